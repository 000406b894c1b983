CREATE TABLE `messages` (
	`seq` integer PRIMARY KEY NOT NULL,
	`id` text NOT NULL,
	`session_id` text NOT NULL,
	`turn_id` text NOT NULL,
	`role` text NOT NULL,
	`content` text NOT NULL,
	`tool_calls` text,
	`is_truncated` integer NOT NULL,
	`tokens` integer NOT NULL,
	`created_at` integer NOT NULL,
	FOREIGN KEY (`session_id`) REFERENCES `sessions`(`id`) ON UPDATE no action ON DELETE no action
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `messages_id_unique` ON `messages` (`id`);--> statement-breakpoint
CREATE INDEX `messages_session` ON `messages` (`session_id`);--> statement-breakpoint
CREATE TABLE `sessions` (
	`id` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`is_completed` integer NOT NULL,
	`metadata` text NOT NULL,
	`message_count` integer NOT NULL,
	`open_turn_id` text,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`active_at` integer NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "message_count_not_negative" CHECK("sessions"."message_count" >= 0)
) STRICT;
--> statement-breakpoint
CREATE INDEX `sessions_user` ON `sessions` (`user_id`,`created_at`);--> statement-breakpoint
CREATE INDEX `sessions_user_active` ON `sessions` (`user_id`,`is_completed`,`active_at`,`agent_id`);--> statement-breakpoint
CREATE TABLE `turns` (
	`seq` integer PRIMARY KEY NOT NULL,
	`id` text NOT NULL,
	`user_id` text NOT NULL,
	`session_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`held` integer NOT NULL,
	`cost` integer,
	`outcome` text,
	`created_at` integer NOT NULL,
	`settled_at` integer,
	CONSTRAINT "held_while_open" CHECK("turns"."held" >= 0 AND ("turns"."settled_at" IS NULL OR "turns"."held" = 0)),
	CONSTRAINT "cost_when_settled" CHECK(("turns"."settled_at" IS NULL) = ("turns"."cost" IS NULL)),
	CONSTRAINT "outcome_when_settled" CHECK(("turns"."settled_at" IS NULL) = ("turns"."outcome" IS NULL))
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `turns_id_unique` ON `turns` (`id`);--> statement-breakpoint
CREATE INDEX `turns_user` ON `turns` (`user_id`,`created_at`);--> statement-breakpoint
CREATE INDEX `turns_open` ON `turns` (`user_id`) WHERE settled_at IS NULL;--> statement-breakpoint
CREATE UNIQUE INDEX `transactions_turn` ON `transactions` (`turn_id`) WHERE turn_id IS NOT NULL;--> statement-breakpoint
CREATE INDEX `transactions_session` ON `transactions` (`session_id`) WHERE session_id IS NOT NULL;--> statement-breakpoint
CREATE TRIGGER `turns_settled` BEFORE UPDATE ON `turns` WHEN OLD.settled_at IS NOT NULL BEGIN SELECT RAISE(ABORT, 'a settled turn never changes'); END;
