CREATE TABLE `audit_log` (
	`seq` integer PRIMARY KEY NOT NULL,
	`action` text NOT NULL,
	`actor` text NOT NULL,
	`actor_id` text,
	`client` text,
	`user_id` text,
	`change` text NOT NULL,
	`created_at` integer NOT NULL,
	`hash` text NOT NULL
) STRICT;
--> statement-breakpoint
CREATE INDEX `audit_log_user` ON `audit_log` (`user_id`);--> statement-breakpoint
CREATE INDEX `audit_log_action` ON `audit_log` (`action`);--> statement-breakpoint
CREATE INDEX `audit_log_user_action` ON `audit_log` (`user_id`,`action`);--> statement-breakpoint
CREATE TABLE `book_days` (
	`user_id` text NOT NULL,
	`day` integer NOT NULL,
	`agent_id` text NOT NULL,
	`endpoint_id` text NOT NULL,
	`model` text NOT NULL,
	`plan` text NOT NULL,
	`key_id` text NOT NULL,
	`executions` integer NOT NULL,
	`failures` integer NOT NULL,
	`charged` integer NOT NULL,
	`refunded` integer NOT NULL,
	`written_off` integer NOT NULL,
	`provider_cost` integer NOT NULL,
	PRIMARY KEY(`day`, `user_id`, `agent_id`, `endpoint_id`, `model`, `plan`, `key_id`)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `book_days_user` ON `book_days` (`user_id`,`day`);--> statement-breakpoint
CREATE TABLE `book_totals` (
	`grouping` text NOT NULL,
	`from_day` integer NOT NULL,
	`to_day` integer NOT NULL,
	`value` text NOT NULL,
	`executions` integer NOT NULL,
	`failures` integer NOT NULL,
	`charged` integer NOT NULL,
	`refunded` integer NOT NULL,
	`written_off` integer NOT NULL,
	`provider_cost` integer NOT NULL,
	PRIMARY KEY(`grouping`, `from_day`, `value`)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
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
	`connectors_blocked_until` integer,
	`owed` integer DEFAULT 0 NOT NULL,
	`platform_credited` integer DEFAULT 0 NOT NULL,
	`plan` text,
	`limits` text,
	`notify_below` integer,
	`low_at` integer,
	`carried` integer DEFAULT 0 NOT NULL,
	`written_off` integer DEFAULT 0 NOT NULL,
	`written_off_on` integer,
	`payload_bytes` integer DEFAULT 0 NOT NULL,
	`payloads_since` integer,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "balance_covers_held" CHECK("accounts"."held" >= 0 AND "accounts"."held" <= "accounts"."balance"),
	CONSTRAINT "owed_not_negative" CHECK("accounts"."owed" >= 0)
) STRICT;
--> statement-breakpoint
CREATE INDEX `accounts_owing` ON `accounts` (`owed`) WHERE owed > 0;--> statement-breakpoint
CREATE INDEX `accounts_plan` ON `accounts` (`plan`) WHERE plan IS NOT NULL;--> statement-breakpoint
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
	`spend_limit` integer,
	`spend_reset` text,
	`rate_limit` integer,
	`limited_at` integer,
	`counts_as` text,
	`agents` text,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `api_keys_token_hash_unique` ON `api_keys` (`token_hash`);--> statement-breakpoint
CREATE INDEX `api_keys_user` ON `api_keys` (`user_id`,`created_at`);--> statement-breakpoint
CREATE INDEX `api_keys_expires` ON `api_keys` (`expires_at`,`id`) WHERE expires_at IS NOT NULL;--> statement-breakpoint
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
CREATE INDEX `client_tokens_live` ON `client_tokens` (`user_id`,`revoked_at`,`expires_at`);--> statement-breakpoint
CREATE INDEX `client_tokens_expires` ON `client_tokens` (`expires_at`);--> statement-breakpoint
CREATE INDEX `client_tokens_creator` ON `client_tokens` (`created_by`,`expires_at`);--> statement-breakpoint
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
CREATE INDEX `connectors_user` ON `connectors` (`user_id`,`created_at`);--> statement-breakpoint
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
	`trace` text,
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
	`digest` text,
	`deliveries` integer,
	`created_at` integer NOT NULL
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
	`created_by` text,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`accepted_at` integer,
	CONSTRAINT "credit_not_negative" CHECK("invitations"."credit" >= 0),
	CONSTRAINT "password_of_a_user" CHECK("invitations"."kind" <> 'password' OR "invitations"."user_id" IS NOT NULL)
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `invitations_token_hash_unique` ON `invitations` (`token_hash`);--> statement-breakpoint
CREATE INDEX `invitations_created` ON `invitations` (`created_at`);--> statement-breakpoint
CREATE INDEX `invitations_email` ON `invitations` (`email`);--> statement-breakpoint
CREATE TABLE `key_rates` (
	`key_id` text PRIMARY KEY NOT NULL,
	`starts_at` integer NOT NULL,
	`used` integer NOT NULL
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
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
CREATE TABLE `mails` (
	`id` text PRIMARY KEY NOT NULL,
	`kind` text NOT NULL,
	`user_id` text,
	`email` text NOT NULL,
	`data` text NOT NULL,
	`sealed` text,
	`status` text NOT NULL,
	`attempts` integer NOT NULL,
	`due_at` integer,
	`attempted_at` integer,
	`error` text,
	`expires_at` integer NOT NULL,
	`created_at` integer NOT NULL,
	CONSTRAINT "mail_due_while_pending" CHECK(("mails"."status" = 'pending') = ("mails"."due_at" IS NOT NULL)),
	CONSTRAINT "mail_link_while_pending" CHECK("mails"."sealed" IS NULL OR "mails"."status" = 'pending'),
	CONSTRAINT "mail_of_a_user" CHECK("mails"."kind" IN ('invitation', 'sign-up') OR "mails"."user_id" IS NOT NULL)
) STRICT;
--> statement-breakpoint
CREATE INDEX `mails_due` ON `mails` (`due_at`) WHERE due_at IS NOT NULL;--> statement-breakpoint
CREATE INDEX `mails_failed` ON `mails` (`status`,`attempted_at`) WHERE error IS NOT NULL;--> statement-breakpoint
CREATE INDEX `mails_user` ON `mails` (`user_id`,`kind`,`created_at`);--> statement-breakpoint
CREATE INDEX `mails_created` ON `mails` (`created_at`);--> statement-breakpoint
CREATE TABLE `messages` (
	`seq` integer PRIMARY KEY NOT NULL,
	`id` text NOT NULL,
	`session_id` text NOT NULL,
	`turn_id` text NOT NULL,
	`role` text NOT NULL,
	`content` text NOT NULL,
	`parts` text,
	`tool_calls` text,
	`is_truncated` integer NOT NULL,
	`tokens` integer NOT NULL,
	`replaces` text,
	`created_at` integer NOT NULL,
	FOREIGN KEY (`session_id`) REFERENCES `sessions`(`id`) ON UPDATE no action ON DELETE no action
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `messages_id_unique` ON `messages` (`id`);--> statement-breakpoint
CREATE INDEX `messages_session` ON `messages` (`session_id`);--> statement-breakpoint
CREATE TABLE `payloads` (
	`id` text PRIMARY KEY NOT NULL,
	`task_id` text NOT NULL,
	`created_at` integer NOT NULL,
	`bytes` integer,
	`sha256` text,
	`media_type` text,
	`filename` text,
	`tokens` integer
) STRICT;
--> statement-breakpoint
CREATE INDEX `payloads_turn` ON `payloads` (`task_id`) WHERE media_type IS NOT NULL;--> statement-breakpoint
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
CREATE INDEX `payment_accounts_recharge` ON `payment_accounts` (`user_id`) WHERE recharge_topup_id IS NOT NULL OR recharge_below IS NOT NULL;--> statement-breakpoint
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
	`taken` integer DEFAULT 0 NOT NULL,
	`users_made` integer DEFAULT 0 NOT NULL,
	`created_by` text,
	`created_at` integer NOT NULL,
	`expires_at` integer,
	`revoked_at` integer,
	`last_used_at` integer,
	`last_addresses` text
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `platform_keys_token_hash_unique` ON `platform_keys` (`token_hash`);--> statement-breakpoint
CREATE TABLE `probes` (
	`id` integer PRIMARY KEY NOT NULL,
	`value` integer NOT NULL
) STRICT;
--> statement-breakpoint
CREATE TABLE `session_totals` (
	`user_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`open` integer NOT NULL,
	`completed` integer NOT NULL,
	PRIMARY KEY(`user_id`, `agent_id`),
	CONSTRAINT "sessions_not_negative" CHECK("session_totals"."open" >= 0 AND "session_totals"."completed" >= 0)
) STRICT;
--> statement-breakpoint
CREATE TABLE `sessions` (
	`id` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`is_completed` integer NOT NULL,
	`metadata` text NOT NULL,
	`message_count` integer NOT NULL,
	`open_turn_id` text,
	`max_cost` integer,
	`spent` integer DEFAULT 0 NOT NULL,
	`tags` text,
	`title` text,
	`continues` text,
	`is_response` integer DEFAULT 0 NOT NULL,
	`expiry_noted_at` integer,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`active_at` integer NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "message_count_not_negative" CHECK("sessions"."message_count" >= 0),
	CONSTRAINT "spent_within_cap" CHECK("sessions"."spent" >= 0 AND ("sessions"."max_cost" IS NULL OR "sessions"."spent" <= "sessions"."max_cost"))
) STRICT;
--> statement-breakpoint
CREATE INDEX `sessions_user` ON `sessions` (`user_id`,`created_at`);--> statement-breakpoint
CREATE INDEX `sessions_user_active` ON `sessions` (`user_id`,`active_at`,`is_completed`,`agent_id`);--> statement-breakpoint
CREATE INDEX `sessions_active` ON `sessions` (`active_at`);--> statement-breakpoint
CREATE INDEX `sessions_empty` ON `sessions` (`user_id`,`active_at`) WHERE message_count = 0;--> statement-breakpoint
CREATE INDEX `sessions_responses` ON `sessions` (`user_id`,`active_at`) WHERE is_response = 1 AND message_count > 0;--> statement-breakpoint
CREATE INDEX `sessions_expiring` ON `sessions` (`active_at`) WHERE is_completed = 0 AND (expiry_noted_at IS NULL OR expiry_noted_at < active_at);--> statement-breakpoint
CREATE TABLE `settings` (
	`name` text PRIMARY KEY NOT NULL,
	`value` text NOT NULL
) STRICT;
--> statement-breakpoint
CREATE TABLE `spend_windows` (
	`owner_id` text NOT NULL,
	`starts_at` integer NOT NULL,
	`user_id` text NOT NULL,
	`spend_limit` integer NOT NULL,
	`charged` integer NOT NULL,
	`held` integer NOT NULL,
	`carried` integer DEFAULT 0 NOT NULL,
	`reached_at` integer,
	PRIMARY KEY(`owner_id`, `starts_at`),
	CONSTRAINT "spent_within_limit" CHECK("spend_windows"."charged" >= 0 AND "spend_windows"."held" >= 0 AND "spend_windows"."charged" + "spend_windows"."held" <= "spend_windows"."spend_limit")
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `spend_windows_user` ON `spend_windows` (`user_id`);--> statement-breakpoint
CREATE INDEX `spend_windows_starts` ON `spend_windows` (`starts_at`);--> statement-breakpoint
CREATE TABLE `task_tags` (
	`user_id` text NOT NULL,
	`tag` text NOT NULL,
	`task_created_at` integer NOT NULL,
	`task_seq` integer NOT NULL,
	PRIMARY KEY(`user_id`, `tag`, `task_created_at`, `task_seq`)
) STRICT, WITHOUT ROWID;
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
	`given_back` integer DEFAULT 0 NOT NULL,
	`key_id` text,
	`started_by` text,
	`provider_cost` integer,
	`meters` text,
	`rates` text,
	`usage` text,
	`tags` text,
	`request` text NOT NULL,
	`request_payload` text,
	`response` text,
	`response_payload` text,
	`error_code` text,
	`error_message` text,
	`error_details` text,
	`connector_ids` text,
	`progress` text,
	`run_log` text,
	`webhook_url` text,
	`quote_id` text,
	`expires_at` integer,
	`timeout_ms` integer,
	`cancelable_until` integer,
	`counted_in` text,
	`has_event` integer,
	`created_at` integer NOT NULL,
	`started_at` integer,
	`completed_at` integer,
	`pruned_at` integer,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "status_known" CHECK("tasks"."status" IN ('pending', 'processing', 'completed', 'failed')),
	CONSTRAINT "cost_not_negative" CHECK("tasks"."cost" >= 0 AND "tasks"."given_back" >= 0),
	CONSTRAINT "given_back_when_completed" CHECK("tasks"."given_back" = 0 OR "tasks"."status" = 'completed'),
	CONSTRAINT "queued_only_open" CHECK("tasks"."queued" = 0 OR "tasks"."status" IN ('pending', 'processing')),
	CONSTRAINT "started_with_processing" CHECK(CASE "tasks"."status" WHEN 'pending' THEN "tasks"."started_at" IS NULL WHEN 'failed' THEN true ELSE "tasks"."started_at" IS NOT NULL END),
	CONSTRAINT "completed_with_end" CHECK(("tasks"."status" IN ('completed', 'failed')) = ("tasks"."completed_at" IS NOT NULL)),
	CONSTRAINT "response_when_completed" CHECK(("tasks"."status" = 'completed' AND "tasks"."pruned_at" IS NULL) = ("tasks"."response" IS NOT NULL)),
	CONSTRAINT "pruned_after_end" CHECK("tasks"."pruned_at" IS NULL OR coalesce("tasks"."pruned_at" >= "tasks"."completed_at", false)),
	CONSTRAINT "error_when_failed" CHECK(("tasks"."status" = 'failed') = ("tasks"."error_code" IS NOT NULL)),
	CONSTRAINT "times_in_order" CHECK("tasks"."started_at" >= "tasks"."created_at" AND "tasks"."completed_at" >= coalesce("tasks"."started_at", "tasks"."created_at"))
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `tasks_id_unique` ON `tasks` (`id`);--> statement-breakpoint
CREATE INDEX `tasks_user` ON `tasks` (`user_id`,`created_at`,`seq`,`agent_id`,`endpoint_id`,`key_id`);--> statement-breakpoint
CREATE INDEX `tasks_user_status` ON `tasks` (`user_id`,`status`,`created_at`);--> statement-breakpoint
CREATE INDEX `tasks_user_agent_status` ON `tasks` (`user_id`,`agent_id`,`status`,`created_at`);--> statement-breakpoint
CREATE INDEX `tasks_open` ON `tasks` (`queued`) WHERE completed_at IS NULL;--> statement-breakpoint
CREATE INDEX `tasks_waiting` ON `tasks` (`user_id`) WHERE queued = 1 AND completed_at IS NULL;--> statement-breakpoint
CREATE INDEX `tasks_expiring` ON `tasks` (`expires_at`) WHERE expires_at IS NOT NULL AND started_at IS NULL AND completed_at IS NULL;--> statement-breakpoint
CREATE INDEX `tasks_failed` ON `tasks` (`completed_at`) WHERE status = 'failed' AND error_code NOT IN ('CANCELED', 'EXPIRED');--> statement-breakpoint
CREATE UNIQUE INDEX `tasks_quote` ON `tasks` (`quote_id`) WHERE quote_id IS NOT NULL;--> statement-breakpoint
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
	`version` integer DEFAULT 0 NOT NULL,
	`events` text,
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
CREATE INDEX `topups_open` ON `topups` (`created_at`) WHERE status = 'open';--> statement-breakpoint
CREATE INDEX `topups_paid` ON `topups` (`created_at`) WHERE status = 'paid';--> statement-breakpoint
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
	`topup_id` text,
	`counted_in` text,
	`created_at` integer NOT NULL,
	CONSTRAINT "balance_after_not_negative" CHECK("transactions"."balance_after" >= 0)
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `transactions_id_unique` ON `transactions` (`id`);--> statement-breakpoint
CREATE INDEX `transactions_user` ON `transactions` (`user_id`);--> statement-breakpoint
CREATE INDEX `transactions_user_type` ON `transactions` (`user_id`,`type`);--> statement-breakpoint
CREATE UNIQUE INDEX `transactions_task` ON `transactions` (`task_id`,`type`) WHERE task_id IS NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX `transactions_turn` ON `transactions` (`turn_id`) WHERE turn_id IS NOT NULL;--> statement-breakpoint
CREATE INDEX `transactions_session` ON `transactions` (`session_id`) WHERE session_id IS NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX `transactions_idempotency` ON `transactions` (`user_id`,`idempotency_key`) WHERE idempotency_key IS NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX `transactions_topup` ON `transactions` (`topup_id`) WHERE topup_id IS NOT NULL AND type = 'credit';--> statement-breakpoint
CREATE INDEX `transactions_counted` ON `transactions` (`counted_in`,`amount`) WHERE counted_in IS NOT NULL;--> statement-breakpoint
CREATE TABLE `trial_credits` (
	`identity_hash` text PRIMARY KEY NOT NULL,
	`created_at` integer NOT NULL
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
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
CREATE TABLE `turns` (
	`seq` integer PRIMARY KEY NOT NULL,
	`id` text NOT NULL,
	`user_id` text NOT NULL,
	`session_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`key_id` text,
	`held` integer NOT NULL,
	`cost` integer,
	`provider_cost` integer,
	`max_cost` integer,
	`quote_id` text,
	`outcome` text,
	`counted_in` text,
	`has_event` integer,
	`created_at` integer NOT NULL,
	`settled_at` integer,
	CONSTRAINT "within_cap" CHECK("turns"."max_cost" IS NULL OR ("turns"."held" <= "turns"."max_cost" AND coalesce("turns"."cost", 0) <= "turns"."max_cost")),
	CONSTRAINT "held_while_open" CHECK("turns"."held" >= 0 AND ("turns"."settled_at" IS NULL OR "turns"."held" = 0)),
	CONSTRAINT "cost_when_settled" CHECK(("turns"."settled_at" IS NULL) = ("turns"."cost" IS NULL)),
	CONSTRAINT "outcome_when_settled" CHECK(("turns"."settled_at" IS NULL) = ("turns"."outcome" IS NULL))
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `turns_id_unique` ON `turns` (`id`);--> statement-breakpoint
CREATE INDEX `turns_user` ON `turns` (`user_id`,`created_at`);--> statement-breakpoint
CREATE INDEX `turns_open` ON `turns` (`user_id`) WHERE settled_at IS NULL;--> statement-breakpoint
CREATE UNIQUE INDEX `turns_quote` ON `turns` (`quote_id`) WHERE quote_id IS NOT NULL;--> statement-breakpoint
CREATE TABLE `users` (
	`id` text PRIMARY KEY NOT NULL,
	`email` text NOT NULL,
	`password_hash` text,
	`is_admin` integer NOT NULL,
	`created_at` integer NOT NULL,
	`suspended_at` integer,
	`external_id` text,
	`erased_at` integer,
	`erased_to` integer
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `users_email_unique` ON `users` (`email`);--> statement-breakpoint
CREATE UNIQUE INDEX `users_external` ON `users` (`external_id`) WHERE external_id IS NOT NULL;--> statement-breakpoint
CREATE INDEX `users_admins` ON `users` (`id`) WHERE is_admin = 1;--> statement-breakpoint
CREATE INDEX `users_erasing` ON `users` (`id`) WHERE erased_to IS NOT NULL;--> statement-breakpoint
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
	CONSTRAINT "disabled_for_a_reason" CHECK(("webhooks"."disabled_at" IS NULL) = ("webhooks"."disabled_reason" IS NULL))
) STRICT;
--> statement-breakpoint
CREATE INDEX `webhooks_user` ON `webhooks` (`user_id`);--> statement-breakpoint
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
CREATE TRIGGER `sessions_ended` AFTER UPDATE OF is_completed ON `sessions` WHEN OLD.is_completed <> NEW.is_completed BEGIN UPDATE session_totals SET open = open + OLD.is_completed - NEW.is_completed, completed = completed + NEW.is_completed - OLD.is_completed WHERE user_id = NEW.user_id AND agent_id = NEW.agent_id; END;--> statement-breakpoint
CREATE TRIGGER `sessions_gone` AFTER DELETE ON `sessions` BEGIN UPDATE session_totals SET open = open - 1 + OLD.is_completed, completed = completed - OLD.is_completed WHERE user_id = OLD.user_id AND agent_id = OLD.agent_id; END;--> statement-breakpoint
CREATE TRIGGER `sessions_made` AFTER INSERT ON `sessions` BEGIN INSERT INTO session_totals (user_id, agent_id, open, completed) VALUES (NEW.user_id, NEW.agent_id, 1 - NEW.is_completed, NEW.is_completed) ON CONFLICT (user_id, agent_id) DO UPDATE SET open = open + excluded.open, completed = completed + excluded.completed; END;--> statement-breakpoint
CREATE TRIGGER `tasks_tagged` AFTER INSERT ON `tasks` WHEN NEW.tags IS NOT NULL BEGIN INSERT INTO task_tags (user_id, tag, task_created_at, task_seq) SELECT NEW.user_id, key || ':' || value, NEW.created_at, NEW.seq FROM json_each(NEW.tags); END;--> statement-breakpoint
CREATE TRIGGER `tasks_terminal` BEFORE UPDATE ON `tasks` WHEN OLD.status IN ('completed', 'failed') AND NOT (NEW.pruned_at IS NOT NULL AND (OLD.pruned_at IS NULL OR (OLD.tags IS NOT NULL OR OLD.webhook_url IS NOT NULL) AND NEW.tags IS NULL AND NEW.webhook_url IS NULL) AND NEW.status = OLD.status AND NEW.cost = OLD.cost AND NEW.given_back = OLD.given_back) BEGIN SELECT RAISE(ABORT, 'a finished task never changes'); END;--> statement-breakpoint
CREATE TRIGGER `audit_log_no_delete` BEFORE DELETE ON `audit_log` BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;--> statement-breakpoint
CREATE TRIGGER `audit_log_no_update` BEFORE UPDATE ON `audit_log` BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;--> statement-breakpoint
CREATE TRIGGER `transactions_no_delete` BEFORE DELETE ON `transactions` BEGIN SELECT RAISE(ABORT, 'transactions are append-only'); END;--> statement-breakpoint
CREATE TRIGGER `transactions_no_update` BEFORE UPDATE ON `transactions` BEGIN SELECT RAISE(ABORT, 'transactions are append-only'); END;--> statement-breakpoint
CREATE TRIGGER `turns_settled` BEFORE UPDATE ON `turns` WHEN OLD.settled_at IS NOT NULL BEGIN SELECT RAISE(ABORT, 'a settled turn never changes'); END;--> statement-breakpoint
INSERT INTO `probes` (`id`, `value`) VALUES (1, 0);
