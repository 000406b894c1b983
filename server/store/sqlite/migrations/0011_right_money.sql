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
ALTER TABLE `accounts` ADD `platform_credited` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `platform_keys` ADD `taken` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `spend_windows` ADD `carried` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `transactions` ADD `platform_key_id` text;