CREATE TABLE `connector_grants` (
	`connector_id` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`issuer` text NOT NULL,
	`sealed` text NOT NULL,
	`expires_at` integer,
	`refresh_until` integer,
	`version` integer NOT NULL,
	`updated_at` integer NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action
) STRICT;
--> statement-breakpoint
CREATE TABLE `connector_sign_ins` (
	`state_hash` text PRIMARY KEY NOT NULL,
	`connector_id` text NOT NULL,
	`user_id` text NOT NULL,
	`sealed` text NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action
) STRICT;
--> statement-breakpoint
CREATE INDEX `connector_sign_ins_connector` ON `connector_sign_ins` (`connector_id`);--> statement-breakpoint
CREATE INDEX `connector_sign_ins_expiry` ON `connector_sign_ins` (`expires_at`);--> statement-breakpoint
CREATE TABLE `turn_events` (
	`turn_id` text NOT NULL,
	`first_seq` integer NOT NULL,
	`last_seq` integer NOT NULL,
	`lines` text NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`turn_id`, `first_seq`)
) STRICT;
--> statement-breakpoint
CREATE INDEX `turn_events_created` ON `turn_events` (`created_at`);--> statement-breakpoint
ALTER TABLE `messages` ADD `parts` text;--> statement-breakpoint
ALTER TABLE `payloads` ADD `media_type` text;--> statement-breakpoint
ALTER TABLE `payloads` ADD `filename` text;--> statement-breakpoint
CREATE INDEX `payloads_turn` ON `payloads` (`task_id`) WHERE media_type IS NOT NULL;