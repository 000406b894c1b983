CREATE TABLE `deliveries` (
	`event_id` text NOT NULL,
	`webhook_id` text NOT NULL,
	`target` text NOT NULL,
	`url` text,
	`status` text NOT NULL,
	`attempts` integer NOT NULL,
	`fence` integer NOT NULL,
	`due_at` integer,
	`attempted_at` integer,
	`http_status` integer,
	`error` text,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`event_id`, `webhook_id`),
	CONSTRAINT "due_while_pending" CHECK(("deliveries"."status" = 'pending') = ("deliveries"."due_at" IS NOT NULL))
) STRICT;
--> statement-breakpoint
CREATE INDEX `deliveries_due` ON `deliveries` (`webhook_id`,`target`,`due_at`) WHERE due_at IS NOT NULL;--> statement-breakpoint
CREATE INDEX `deliveries_webhook` ON `deliveries` (`webhook_id`,`status`,`created_at`,`event_id`);--> statement-breakpoint
CREATE TABLE `events` (
	`id` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`type` text NOT NULL,
	`body` text NOT NULL,
	`created_at` integer NOT NULL
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `webhooks` (
	`id` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`url` text,
	`description` text NOT NULL,
	`types` text,
	`sealed` text NOT NULL,
	`previous_until` integer,
	`disabled_at` integer,
	`disabled_reason` text,
	`failing_since` integer,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "disabled_for_a_reason" CHECK(("webhooks"."disabled_at" IS NULL) = ("webhooks"."disabled_reason" IS NULL))
) STRICT;
--> statement-breakpoint
CREATE INDEX `webhooks_user` ON `webhooks` (`user_id`);--> statement-breakpoint
CREATE INDEX `sessions_expiring` ON `sessions` (`active_at`) WHERE is_completed = 0 AND (expiry_noted_at IS NULL OR expiry_noted_at < active_at);--> statement-breakpoint
INSERT INTO `settings` (`name`, `value`) SELECT 'events-since', CAST(newest AS text) FROM (SELECT max(at) AS newest FROM (SELECT max(`completed_at`) AS at FROM `tasks` UNION ALL SELECT max(`settled_at`) FROM `turns` UNION ALL SELECT max(`created_at`) FROM `transactions`) AS times) AS ends WHERE newest IS NOT NULL;--> statement-breakpoint
UPDATE `sessions` SET `expiry_noted_at` = `active_at` WHERE `active_at` <= (SELECT max(`active_at`) - 86400000 FROM `sessions`);
