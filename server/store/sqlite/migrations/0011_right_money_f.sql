ALTER TABLE `api_keys` ADD `limited_at` integer;--> statement-breakpoint
ALTER TABLE `events` ADD `digest` text;--> statement-breakpoint
ALTER TABLE `events` ADD `deliveries` integer;--> statement-breakpoint
ALTER TABLE `payment_events` ADD `event_count` integer;--> statement-breakpoint
ALTER TABLE `transactions` ADD `counted_in` text;--> statement-breakpoint
UPDATE `api_keys` SET `limited_at` = CAST(strftime('%s', 'now') AS integer) * 1000 WHERE `spend_limit` IS NOT NULL;--> statement-breakpoint
INSERT INTO `settings` SELECT 'windows-since', CAST(CAST(strftime('%s', 'now') AS integer) * 1000 - 131 * 86400000 AS text) WHERE EXISTS (SELECT 1 FROM `users`);--> statement-breakpoint
INSERT INTO `settings` SELECT 'credits-since', CAST(CAST(strftime('%s', 'now') AS integer) * 1000 AS text) WHERE EXISTS (SELECT 1 FROM `users`);
