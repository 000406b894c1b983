CREATE TABLE `identities` (
	`issuer` text NOT NULL,
	`subject` text NOT NULL,
	`user_id` text NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`issuer`, `subject`),
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action
) STRICT;
--> statement-breakpoint
CREATE INDEX `identities_user` ON `identities` (`user_id`);--> statement-breakpoint
CREATE TABLE `invitations` (
	`id` text PRIMARY KEY NOT NULL,
	`token_hash` text NOT NULL,
	`kind` text NOT NULL,
	`email` text NOT NULL,
	`user_id` text,
	`is_admin` integer NOT NULL,
	`credit` integer NOT NULL,
	`created_by` text NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`accepted_at` integer,
	CONSTRAINT "credit_not_negative" CHECK("invitations"."credit" >= 0),
	CONSTRAINT "password_of_a_user" CHECK("invitations"."kind" = 'invitation' OR "invitations"."user_id" IS NOT NULL)
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `invitations_token_hash_unique` ON `invitations` (`token_hash`);--> statement-breakpoint
CREATE INDEX `invitations_created` ON `invitations` (`created_at`);--> statement-breakpoint
CREATE TABLE `login_attempts` (
	`seq` integer PRIMARY KEY NOT NULL,
	`email_hash` text NOT NULL,
	`client` text NOT NULL,
	`at` integer NOT NULL
) STRICT;
--> statement-breakpoint
CREATE INDEX `login_attempts_email` ON `login_attempts` (`email_hash`,`at`);--> statement-breakpoint
CREATE INDEX `login_attempts_client` ON `login_attempts` (`client`,`at`);--> statement-breakpoint
CREATE INDEX `login_attempts_at` ON `login_attempts` (`at`);--> statement-breakpoint
CREATE TABLE `logins` (
	`id` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`token_hash` text NOT NULL,
	`method` text NOT NULL,
	`provider` text,
	`user_agent` text,
	`created_at` integer NOT NULL,
	`last_used_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `logins_token_hash_unique` ON `logins` (`token_hash`);--> statement-breakpoint
CREATE INDEX `logins_user` ON `logins` (`user_id`,`created_at`);--> statement-breakpoint
CREATE INDEX `logins_expires` ON `logins` (`expires_at`);--> statement-breakpoint
ALTER TABLE `users` ADD `suspended_at` integer;