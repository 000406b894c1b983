CREATE TABLE `abuse_failures` (
	`seq` integer PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`failed_at` integer NOT NULL
) STRICT;
--> statement-breakpoint
CREATE INDEX `abuse_failures_user` ON `abuse_failures` (`user_id`,`failed_at`);--> statement-breakpoint
CREATE TABLE `accounts` (
	`user_id` text PRIMARY KEY NOT NULL,
	`balance` integer NOT NULL,
	`held` integer NOT NULL,
	`blocked_at` integer,
	`blocked_until` integer,
	`block_seconds` integer,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "balance_covers_held" CHECK("accounts"."held" >= 0 AND "accounts"."held" <= "accounts"."balance")
) STRICT;
--> statement-breakpoint
CREATE TABLE `api_keys` (
	`id` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`name` text NOT NULL,
	`token_hash` text NOT NULL,
	`hint` text NOT NULL,
	`scopes` text NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer,
	`revoked_at` integer,
	`last_used_at` integer,
	`replaced_by` text,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `api_keys_token_hash_unique` ON `api_keys` (`token_hash`);--> statement-breakpoint
CREATE INDEX `api_keys_user` ON `api_keys` (`user_id`,`created_at`);--> statement-breakpoint
CREATE TABLE `counters` (
	`user_id` text NOT NULL,
	`kind` text NOT NULL,
	`part` text NOT NULL,
	`status` text NOT NULL,
	`count` integer NOT NULL,
	PRIMARY KEY(`user_id`, `kind`, `part`, `status`),
	CONSTRAINT "count_not_negative" CHECK("counters"."count" >= 0)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `idempotency_keys` (
	`user_id` text NOT NULL,
	`operation` text NOT NULL,
	`key` text NOT NULL,
	`body_hash` text NOT NULL,
	`resource_id` text NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`user_id`, `operation`, `key`)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `idempotency_keys_created` ON `idempotency_keys` (`created_at`);--> statement-breakpoint
CREATE TABLE `payloads` (
	`id` text PRIMARY KEY NOT NULL,
	`task_id` text NOT NULL,
	`created_at` integer NOT NULL
) STRICT;
--> statement-breakpoint
CREATE TABLE `probes` (
	`id` integer PRIMARY KEY NOT NULL,
	`value` integer NOT NULL
) STRICT;
--> statement-breakpoint
CREATE TABLE `tasks` (
	`seq` integer PRIMARY KEY NOT NULL,
	`id` text NOT NULL,
	`user_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`endpoint_id` text NOT NULL,
	`status` text NOT NULL,
	`queued` integer NOT NULL,
	`attempt` integer NOT NULL,
	`cost` integer NOT NULL,
	`request` text NOT NULL,
	`request_payload` text,
	`response` text,
	`response_payload` text,
	`error_code` text,
	`error_message` text,
	`error_details` text,
	`connector_ids` text,
	`created_at` integer NOT NULL,
	`started_at` integer,
	`completed_at` integer,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "status_known" CHECK("tasks"."status" IN ('pending', 'processing', 'completed', 'failed')),
	CONSTRAINT "cost_not_negative" CHECK("tasks"."cost" >= 0),
	CONSTRAINT "queued_only_open" CHECK("tasks"."queued" = 0 OR "tasks"."status" IN ('pending', 'processing')),
	CONSTRAINT "started_with_processing" CHECK(("tasks"."status" = 'pending') = ("tasks"."started_at" IS NULL)),
	CONSTRAINT "completed_with_end" CHECK(("tasks"."status" IN ('completed', 'failed')) = ("tasks"."completed_at" IS NOT NULL)),
	CONSTRAINT "response_when_completed" CHECK(("tasks"."status" = 'completed') = ("tasks"."response" IS NOT NULL)),
	CONSTRAINT "error_when_failed" CHECK(("tasks"."status" = 'failed') = ("tasks"."error_code" IS NOT NULL)),
	CONSTRAINT "times_in_order" CHECK("tasks"."started_at" >= "tasks"."created_at" AND "tasks"."completed_at" >= "tasks"."started_at")
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `tasks_id_unique` ON `tasks` (`id`);--> statement-breakpoint
CREATE INDEX `tasks_user` ON `tasks` (`user_id`,`created_at`);--> statement-breakpoint
CREATE INDEX `tasks_user_status` ON `tasks` (`user_id`,`status`,`created_at`);--> statement-breakpoint
CREATE INDEX `tasks_user_agent_status` ON `tasks` (`user_id`,`agent_id`,`status`,`created_at`);--> statement-breakpoint
CREATE INDEX `tasks_open` ON `tasks` (`queued`) WHERE completed_at IS NULL;--> statement-breakpoint
CREATE TABLE `transactions` (
	`seq` integer PRIMARY KEY NOT NULL,
	`id` text NOT NULL,
	`user_id` text NOT NULL,
	`type` text NOT NULL,
	`amount` integer NOT NULL,
	`balance_after` integer NOT NULL,
	`task_id` text,
	`session_id` text,
	`turn_id` text,
	`description` text NOT NULL,
	`breakdown` text,
	`idempotency_key` text,
	`created_at` integer NOT NULL,
	CONSTRAINT "balance_after_not_negative" CHECK("transactions"."balance_after" >= 0)
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `transactions_id_unique` ON `transactions` (`id`);--> statement-breakpoint
CREATE INDEX `transactions_user` ON `transactions` (`user_id`);--> statement-breakpoint
CREATE INDEX `transactions_user_type` ON `transactions` (`user_id`,`type`);--> statement-breakpoint
CREATE UNIQUE INDEX `transactions_task` ON `transactions` (`task_id`,`type`) WHERE task_id IS NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX `transactions_idempotency` ON `transactions` (`user_id`,`idempotency_key`) WHERE idempotency_key IS NOT NULL;--> statement-breakpoint
CREATE TABLE `users` (
	`id` text PRIMARY KEY NOT NULL,
	`email` text NOT NULL,
	`password_hash` text,
	`is_admin` integer NOT NULL,
	`created_at` integer NOT NULL
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `users_email_unique` ON `users` (`email`);--> statement-breakpoint
CREATE TRIGGER `transactions_no_update` BEFORE UPDATE ON `transactions` BEGIN SELECT RAISE(ABORT, 'transactions are append-only'); END;--> statement-breakpoint
CREATE TRIGGER `transactions_no_delete` BEFORE DELETE ON `transactions` BEGIN SELECT RAISE(ABORT, 'transactions are append-only'); END;--> statement-breakpoint
CREATE TRIGGER `tasks_terminal` BEFORE UPDATE ON `tasks` WHEN OLD.status IN ('completed', 'failed') BEGIN SELECT RAISE(ABORT, 'a finished task never changes'); END;--> statement-breakpoint
INSERT INTO `probes` (`id`, `value`) VALUES (1, 0);
