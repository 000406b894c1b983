CREATE TABLE `connectors` (
	`id` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`name` text NOT NULL,
	`url` text,
	`server` text,
	`auth_type` text NOT NULL,
	`sealed` text,
	`allowed_tools` text,
	`status` text NOT NULL,
	`status_message` text,
	`checked_at` integer,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "one_target" CHECK(("connectors"."url" IS NULL) <> ("connectors"."server" IS NULL)),
	CONSTRAINT "secrets_with_auth" CHECK(("connectors"."auth_type" = 'none') = ("connectors"."sealed" IS NULL))
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `connectors_user_name` ON `connectors` (`user_id`,`name`);--> statement-breakpoint
CREATE INDEX `connectors_user` ON `connectors` (`user_id`,`created_at`);