ALTER TABLE `accounts` ADD `payload_bytes` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `accounts` ADD `payloads_since` integer;--> statement-breakpoint
ALTER TABLE `payloads` ADD `tokens` integer;--> statement-breakpoint
ALTER TABLE `platform_keys` ADD `users_made` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `sessions` ADD `is_response` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX `sessions_responses` ON `sessions` (`user_id`,`active_at`) WHERE is_response = 1 AND message_count > 0;--> statement-breakpoint
CREATE INDEX `topups_paid` ON `topups` (`created_at`) WHERE status = 'paid';