CREATE TABLE `wire_requests` (
	`user_id` text NOT NULL,
	`digest` text NOT NULL,
	`resource_id` text NOT NULL,
	`made_by` integer NOT NULL,
	`retries` integer NOT NULL,
	`left_at` integer,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`user_id`, `digest`, `resource_id`)
) STRICT;
--> statement-breakpoint
CREATE INDEX `wire_requests_created` ON `wire_requests` (`created_at`);--> statement-breakpoint
DROP TABLE `payment_events`;--> statement-breakpoint
DROP INDEX `client_tokens_user`;--> statement-breakpoint
CREATE INDEX `client_tokens_live` ON `client_tokens` (`user_id`,`revoked_at`,`expires_at`);--> statement-breakpoint
ALTER TABLE `accounts` ADD `connectors_blocked_until` integer;--> statement-breakpoint
ALTER TABLE `accounts` ADD `platform_credited` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `accounts` ADD `carried` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `accounts` ADD `written_off` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `accounts` ADD `written_off_on` integer;--> statement-breakpoint
ALTER TABLE `api_keys` ADD `limited_at` integer;--> statement-breakpoint
ALTER TABLE `events` ADD `digest` text;--> statement-breakpoint
ALTER TABLE `events` ADD `deliveries` integer;--> statement-breakpoint
ALTER TABLE `platform_keys` ADD `taken` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `spend_windows` ADD `carried` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `tasks` ADD `cancelable_until` integer;--> statement-breakpoint
ALTER TABLE `topups` ADD `version` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `topups` ADD `events` text;--> statement-breakpoint
CREATE INDEX `topups_open` ON `topups` (`created_at`) WHERE status = 'open';--> statement-breakpoint
ALTER TABLE `topups` DROP COLUMN `disputes`;--> statement-breakpoint
ALTER TABLE `transactions` ADD `counted_in` text;--> statement-breakpoint
CREATE INDEX `users_admins` ON `users` (`id`) WHERE is_admin = 1;
--> statement-breakpoint
UPDATE `api_keys` SET `limited_at` = CAST(strftime('%s', 'now') AS integer) * 1000 WHERE `spend_limit` IS NOT NULL;--> statement-breakpoint
INSERT INTO `settings` SELECT 'windows-since', CAST(CAST(strftime('%s', 'now') AS integer) * 1000 - 131 * 86400000 AS text) WHERE EXISTS (SELECT 1 FROM `users`);--> statement-breakpoint
INSERT INTO `settings` SELECT 'credits-since', CAST(CAST(strftime('%s', 'now') AS integer) * 1000 AS text) WHERE EXISTS (SELECT 1 FROM `users`);
