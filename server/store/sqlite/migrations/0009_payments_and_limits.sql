CREATE TABLE `client_tokens` (
	`id` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`token_hash` text NOT NULL,
	`scopes` text NOT NULL,
	`agents` text,
	`session_id` text,
	`task_id` text,
	`max_cost` integer,
	`is_once` integer NOT NULL,
	`used_at` integer,
	`created_by` text NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`revoked_at` integer,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `client_tokens_token_hash_unique` ON `client_tokens` (`token_hash`);--> statement-breakpoint
CREATE INDEX `client_tokens_user` ON `client_tokens` (`user_id`);--> statement-breakpoint
CREATE INDEX `client_tokens_expires` ON `client_tokens` (`expires_at`);--> statement-breakpoint
CREATE TABLE `key_rates` (
	`key_id` text PRIMARY KEY NOT NULL,
	`starts_at` integer NOT NULL,
	`used` integer NOT NULL
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `payment_accounts` (
	`user_id` text PRIMARY KEY NOT NULL,
	`provider` text NOT NULL,
	`customer_id` text,
	`method_id` text,
	`method_label` text,
	`recharge_below` integer,
	`recharge_to` integer,
	`recharge_monthly_max` integer,
	`recharge_off_reason` text,
	`recharge_topup_id` text,
	`updated_at` integer NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "recharge_whole" CHECK(("payment_accounts"."recharge_below" IS NULL) = ("payment_accounts"."recharge_to" IS NULL) AND ("payment_accounts"."recharge_below" IS NULL) = ("payment_accounts"."recharge_monthly_max" IS NULL) AND "payment_accounts"."recharge_below" < "payment_accounts"."recharge_to")
) STRICT;
--> statement-breakpoint
CREATE TABLE `payment_events` (
	`provider` text NOT NULL,
	`event_id` text NOT NULL,
	`type` text NOT NULL,
	`topup_id` text,
	`outcome` text NOT NULL,
	`received_at` integer NOT NULL,
	PRIMARY KEY(`provider`, `event_id`)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `payment_events_topup` ON `payment_events` (`topup_id`);--> statement-breakpoint
CREATE INDEX `payment_events_received` ON `payment_events` (`received_at`);--> statement-breakpoint
CREATE TABLE `platform_keys` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`token_hash` text NOT NULL,
	`hint` text NOT NULL,
	`scopes` text NOT NULL,
	`addresses` text,
	`credit_per_day` integer,
	`credit_day` integer DEFAULT 0 NOT NULL,
	`credited` integer DEFAULT 0 NOT NULL,
	`created_by` text,
	`created_at` integer NOT NULL,
	`expires_at` integer,
	`revoked_at` integer,
	`last_used_at` integer
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `platform_keys_token_hash_unique` ON `platform_keys` (`token_hash`);--> statement-breakpoint
CREATE TABLE `spend_windows` (
	`owner_id` text NOT NULL,
	`starts_at` integer NOT NULL,
	`user_id` text NOT NULL,
	`spend_limit` integer NOT NULL,
	`charged` integer NOT NULL,
	`held` integer NOT NULL,
	`reached_at` integer,
	PRIMARY KEY(`owner_id`, `starts_at`),
	CONSTRAINT "spent_within_limit" CHECK("spend_windows"."charged" >= 0 AND "spend_windows"."held" >= 0 AND "spend_windows"."charged" + "spend_windows"."held" <= "spend_windows"."spend_limit")
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `spend_windows_user` ON `spend_windows` (`user_id`);--> statement-breakpoint
CREATE INDEX `spend_windows_starts` ON `spend_windows` (`starts_at`);--> statement-breakpoint
CREATE TABLE `topups` (
	`id` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`provider` text NOT NULL,
	`status` text NOT NULL,
	`amount` integer NOT NULL,
	`is_auto` integer NOT NULL,
	`checkout_id` text,
	`checkout_url` text,
	`payment_id` text,
	`receipt_url` text,
	`refunded` integer DEFAULT 0 NOT NULL,
	`disputed` integer DEFAULT 0 NOT NULL,
	`disputes` text,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`paid_at` integer,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "amount_above_zero" CHECK("topups"."amount" > 0),
	CONSTRAINT "taken_back_of_amount" CHECK("topups"."refunded" >= 0 AND "topups"."disputed" >= 0),
	CONSTRAINT "paid_at_of_paid" CHECK(("topups"."status" = 'paid') = ("topups"."paid_at" IS NOT NULL))
) STRICT;
--> statement-breakpoint
CREATE INDEX `topups_user` ON `topups` (`user_id`,`created_at`);--> statement-breakpoint
CREATE UNIQUE INDEX `topups_checkout` ON `topups` (`checkout_id`) WHERE checkout_id IS NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX `topups_payment` ON `topups` (`payment_id`) WHERE payment_id IS NOT NULL;--> statement-breakpoint
CREATE INDEX `topups_created` ON `topups` (`created_at`);--> statement-breakpoint
ALTER TABLE `accounts` ADD `owed` integer DEFAULT 0 NOT NULL CONSTRAINT "owed_not_negative" CHECK("owed" >= 0);--> statement-breakpoint
ALTER TABLE `accounts` ADD `plan` text;--> statement-breakpoint
ALTER TABLE `accounts` ADD `limits` text;--> statement-breakpoint
ALTER TABLE `accounts` ADD `notify_below` integer;--> statement-breakpoint
ALTER TABLE `accounts` ADD `low_at` integer;--> statement-breakpoint
ALTER TABLE `api_keys` ADD `spend_limit` integer;--> statement-breakpoint
ALTER TABLE `api_keys` ADD `spend_reset` text;--> statement-breakpoint
ALTER TABLE `api_keys` ADD `rate_limit` integer;--> statement-breakpoint
ALTER TABLE `api_keys` ADD `counts_as` text;--> statement-breakpoint
ALTER TABLE `api_keys` ADD `agents` text;--> statement-breakpoint
ALTER TABLE `tasks` ADD `counted_in` text;--> statement-breakpoint
CREATE INDEX `tasks_waiting` ON `tasks` (`user_id`) WHERE queued = 1 AND completed_at IS NULL;--> statement-breakpoint
ALTER TABLE `transactions` ADD `topup_id` text;--> statement-breakpoint
CREATE UNIQUE INDEX `transactions_topup` ON `transactions` (`topup_id`) WHERE topup_id IS NOT NULL AND type = 'credit';--> statement-breakpoint
ALTER TABLE `turns` ADD `counted_in` text;--> statement-breakpoint
ALTER TABLE `users` ADD `external_id` text;--> statement-breakpoint
CREATE UNIQUE INDEX `users_external` ON `users` (`external_id`) WHERE external_id IS NOT NULL;--> statement-breakpoint
CREATE INDEX `accounts_owing` ON `accounts` (`owed`) WHERE owed > 0;--> statement-breakpoint
CREATE INDEX `accounts_plan` ON `accounts` (`plan`) WHERE plan IS NOT NULL;