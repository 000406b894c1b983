CREATE TABLE "audit_log" (
	"seq" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "audit_log_seq_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"action" text NOT NULL,
	"actor" text NOT NULL,
	"actor_id" text,
	"client" text,
	"user_id" text,
	"change" text NOT NULL,
	"created_at" bigint NOT NULL,
	"hash" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "book_days" (
	"user_id" text NOT NULL,
	"day" bigint NOT NULL,
	"agent_id" text NOT NULL,
	"endpoint_id" text NOT NULL,
	"model" text NOT NULL,
	"plan" text NOT NULL,
	"key_id" text NOT NULL,
	"executions" bigint NOT NULL,
	"failures" bigint NOT NULL,
	"charged" bigint NOT NULL,
	"refunded" bigint NOT NULL,
	"written_off" bigint NOT NULL,
	"provider_cost" bigint NOT NULL,
	CONSTRAINT "book_days_day_user_id_agent_id_endpoint_id_model_plan_key_id_pk" PRIMARY KEY("day","user_id","agent_id","endpoint_id","model","plan","key_id")
);
--> statement-breakpoint
CREATE INDEX "audit_log_user" ON "audit_log" USING btree ("user_id","seq");--> statement-breakpoint
CREATE INDEX "audit_log_action" ON "audit_log" USING btree ("action","seq");--> statement-breakpoint
CREATE INDEX "audit_log_user_action" ON "audit_log" USING btree ("user_id","action","seq");--> statement-breakpoint
CREATE INDEX "book_days_user" ON "book_days" USING btree ("user_id","day");--> statement-breakpoint
CREATE TABLE "book_totals" (
	"grouping" text NOT NULL,
	"from_day" bigint NOT NULL,
	"to_day" bigint NOT NULL,
	"value" text NOT NULL,
	"executions" bigint NOT NULL,
	"failures" bigint NOT NULL,
	"charged" bigint NOT NULL,
	"refunded" bigint NOT NULL,
	"written_off" bigint NOT NULL,
	"provider_cost" bigint NOT NULL,
	CONSTRAINT "book_totals_grouping_from_day_value_pk" PRIMARY KEY("grouping","from_day","value")
);
--> statement-breakpoint
CREATE TABLE "abuse_failures" (
	"seq" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "abuse_failures_seq_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"user_id" text NOT NULL,
	"failed_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "accounts" (
	"user_id" text PRIMARY KEY NOT NULL,
	"balance" bigint NOT NULL,
	"held" bigint NOT NULL,
	"blocked_at" bigint,
	"blocked_until" bigint,
	"block_seconds" bigint,
	"connectors_blocked_until" bigint,
	"owed" bigint DEFAULT 0 NOT NULL,
	"platform_credited" bigint DEFAULT 0 NOT NULL,
	"plan" text,
	"limits" text,
	"notify_below" bigint,
	"low_at" bigint,
	"carried" bigint DEFAULT 0 NOT NULL,
	"written_off" bigint DEFAULT 0 NOT NULL,
	"written_off_on" bigint,
	"payload_bytes" bigint DEFAULT 0 NOT NULL,
	"payloads_since" bigint,
	CONSTRAINT "balance_covers_held" CHECK ("accounts"."held" >= 0 AND "accounts"."held" <= "accounts"."balance"),
	CONSTRAINT "owed_not_negative" CHECK ("accounts"."owed" >= 0)
);
--> statement-breakpoint
CREATE TABLE "api_keys" (
	"seq" bigint GENERATED ALWAYS AS IDENTITY (sequence name "api_keys_seq_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"id" text PRIMARY KEY NOT NULL,
	"user_id" text NOT NULL,
	"name" text NOT NULL,
	"token_hash" text NOT NULL,
	"hint" text NOT NULL,
	"scopes" text NOT NULL,
	"created_at" bigint NOT NULL,
	"expires_at" bigint,
	"revoked_at" bigint,
	"last_used_at" bigint,
	"replaced_by" text,
	"spend_limit" bigint,
	"spend_reset" text,
	"rate_limit" bigint,
	"limited_at" bigint,
	"counts_as" text,
	"agents" text,
	CONSTRAINT "api_keys_token_hash_unique" UNIQUE("token_hash")
);
--> statement-breakpoint
CREATE TABLE "client_tokens" (
	"seq" bigint GENERATED ALWAYS AS IDENTITY (sequence name "client_tokens_seq_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"id" text PRIMARY KEY NOT NULL,
	"user_id" text NOT NULL,
	"token_hash" text NOT NULL,
	"scopes" text NOT NULL,
	"agents" text,
	"session_id" text,
	"task_id" text,
	"max_cost" bigint,
	"is_once" bigint NOT NULL,
	"used_at" bigint,
	"created_by" text NOT NULL,
	"created_at" bigint NOT NULL,
	"expires_at" bigint NOT NULL,
	"revoked_at" bigint,
	CONSTRAINT "client_tokens_token_hash_unique" UNIQUE("token_hash")
);
--> statement-breakpoint
CREATE TABLE "connector_grants" (
	"connector_id" text PRIMARY KEY NOT NULL,
	"user_id" text NOT NULL,
	"issuer" text NOT NULL,
	"sealed" text NOT NULL,
	"expires_at" bigint,
	"refresh_until" bigint,
	"version" bigint NOT NULL,
	"updated_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "connector_sign_ins" (
	"state_hash" text PRIMARY KEY NOT NULL,
	"connector_id" text NOT NULL,
	"user_id" text NOT NULL,
	"sealed" text NOT NULL,
	"created_at" bigint NOT NULL,
	"expires_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "connectors" (
	"seq" bigint GENERATED ALWAYS AS IDENTITY (sequence name "connectors_seq_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"id" text PRIMARY KEY NOT NULL,
	"user_id" text NOT NULL,
	"name" text NOT NULL,
	"url" text,
	"server" text,
	"auth_type" text NOT NULL,
	"sealed" text,
	"allowed_tools" text,
	"status" text NOT NULL,
	"status_message" text,
	"checked_at" bigint,
	"created_at" bigint NOT NULL,
	"updated_at" bigint NOT NULL,
	CONSTRAINT "one_target" CHECK (("connectors"."url" IS NULL) <> ("connectors"."server" IS NULL)),
	CONSTRAINT "secrets_with_auth" CHECK (("connectors"."auth_type" = 'none') = ("connectors"."sealed" IS NULL))
);
--> statement-breakpoint
CREATE TABLE "counters" (
	"user_id" text NOT NULL,
	"kind" text NOT NULL,
	"part" text NOT NULL,
	"status" text NOT NULL,
	"count" bigint NOT NULL,
	CONSTRAINT "counters_user_id_kind_part_status_pk" PRIMARY KEY("user_id","kind","part","status"),
	CONSTRAINT "count_not_negative" CHECK ("counters"."count" >= 0)
);
--> statement-breakpoint
CREATE TABLE "deliveries" (
	"event_id" text NOT NULL,
	"webhook_id" text NOT NULL,
	"target" text NOT NULL,
	"url" text,
	"status" text NOT NULL,
	"attempts" bigint NOT NULL,
	"fence" bigint NOT NULL,
	"due_at" bigint,
	"attempted_at" bigint,
	"http_status" bigint,
	"error" text,
	"trace" text,
	"created_at" bigint NOT NULL,
	CONSTRAINT "deliveries_event_id_webhook_id_pk" PRIMARY KEY("event_id","webhook_id"),
	CONSTRAINT "due_while_pending" CHECK (("deliveries"."status" = 'pending') = ("deliveries"."due_at" IS NOT NULL))
);
--> statement-breakpoint
CREATE TABLE "events" (
	"id" text PRIMARY KEY NOT NULL,
	"user_id" text NOT NULL,
	"type" text NOT NULL,
	"body" text NOT NULL,
	"digest" text,
	"deliveries" bigint,
	"created_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "idempotency_keys" (
	"user_id" text NOT NULL,
	"operation" text NOT NULL,
	"key" text NOT NULL,
	"body_hash" text NOT NULL,
	"resource_id" text NOT NULL,
	"created_at" bigint NOT NULL,
	CONSTRAINT "idempotency_keys_user_id_operation_key_pk" PRIMARY KEY("user_id","operation","key")
);
--> statement-breakpoint
CREATE TABLE "identities" (
	"issuer" text NOT NULL,
	"subject" text NOT NULL,
	"user_id" text NOT NULL,
	"created_at" bigint NOT NULL,
	CONSTRAINT "identities_issuer_subject_pk" PRIMARY KEY("issuer","subject")
);
--> statement-breakpoint
CREATE TABLE "invitations" (
	"seq" bigint GENERATED ALWAYS AS IDENTITY (sequence name "invitations_seq_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"id" text PRIMARY KEY NOT NULL,
	"token_hash" text NOT NULL,
	"kind" text NOT NULL,
	"email" text NOT NULL,
	"user_id" text,
	"is_admin" bigint NOT NULL,
	"credit" bigint NOT NULL,
	"created_by" text,
	"created_at" bigint NOT NULL,
	"expires_at" bigint NOT NULL,
	"accepted_at" bigint,
	CONSTRAINT "invitations_token_hash_unique" UNIQUE("token_hash"),
	CONSTRAINT "credit_not_negative" CHECK ("invitations"."credit" >= 0),
	CONSTRAINT "password_of_a_user" CHECK ("invitations"."kind" <> 'password' OR "invitations"."user_id" IS NOT NULL)
);
--> statement-breakpoint
CREATE TABLE "key_rates" (
	"key_id" text PRIMARY KEY NOT NULL,
	"starts_at" bigint NOT NULL,
	"used" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "login_attempts" (
	"seq" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "login_attempts_seq_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"email_hash" text NOT NULL,
	"client" text NOT NULL,
	"at" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "logins" (
	"seq" bigint GENERATED ALWAYS AS IDENTITY (sequence name "logins_seq_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"id" text PRIMARY KEY NOT NULL,
	"user_id" text NOT NULL,
	"token_hash" text NOT NULL,
	"method" text NOT NULL,
	"provider" text,
	"user_agent" text,
	"created_at" bigint NOT NULL,
	"last_used_at" bigint NOT NULL,
	"expires_at" bigint NOT NULL,
	CONSTRAINT "logins_token_hash_unique" UNIQUE("token_hash")
);
--> statement-breakpoint
CREATE TABLE "mails" (
	"id" text PRIMARY KEY NOT NULL,
	"kind" text NOT NULL,
	"user_id" text,
	"email" text NOT NULL,
	"data" text NOT NULL,
	"sealed" text,
	"status" text NOT NULL,
	"attempts" bigint NOT NULL,
	"due_at" bigint,
	"attempted_at" bigint,
	"error" text,
	"expires_at" bigint NOT NULL,
	"created_at" bigint NOT NULL,
	CONSTRAINT "mail_due_while_pending" CHECK (("mails"."status" = 'pending') = ("mails"."due_at" IS NOT NULL)),
	CONSTRAINT "mail_link_while_pending" CHECK ("mails"."sealed" IS NULL OR "mails"."status" = 'pending'),
	CONSTRAINT "mail_of_a_user" CHECK ("mails"."kind" IN ('invitation', 'sign-up') OR "mails"."user_id" IS NOT NULL)
);
--> statement-breakpoint
CREATE TABLE "messages" (
	"seq" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "messages_seq_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"id" text NOT NULL,
	"session_id" text NOT NULL,
	"turn_id" text NOT NULL,
	"role" text NOT NULL,
	"content" text NOT NULL,
	"parts" text,
	"tool_calls" text,
	"is_truncated" bigint NOT NULL,
	"tokens" bigint NOT NULL,
	"replaces" text,
	"created_at" bigint NOT NULL,
	CONSTRAINT "messages_id_unique" UNIQUE("id")
);
--> statement-breakpoint
CREATE TABLE "payload_parts" (
	"payload_id" text NOT NULL,
	"part" bigint NOT NULL,
	"content" "bytea" NOT NULL,
	"created_at" bigint NOT NULL,
	CONSTRAINT "payload_parts_payload_id_part_pk" PRIMARY KEY("payload_id","part")
);
--> statement-breakpoint
CREATE TABLE "payloads" (
	"id" text PRIMARY KEY NOT NULL,
	"task_id" text NOT NULL,
	"created_at" bigint NOT NULL,
	"bytes" bigint,
	"sha256" text,
	"media_type" text,
	"filename" text,
	"tokens" bigint
);
--> statement-breakpoint
CREATE TABLE "payment_accounts" (
	"user_id" text PRIMARY KEY NOT NULL,
	"provider" text NOT NULL,
	"customer_id" text,
	"method_id" text,
	"method_label" text,
	"recharge_below" bigint,
	"recharge_to" bigint,
	"recharge_monthly_max" bigint,
	"recharge_off_reason" text,
	"recharge_topup_id" text,
	"updated_at" bigint NOT NULL,
	CONSTRAINT "recharge_whole" CHECK (("payment_accounts"."recharge_below" IS NULL) = ("payment_accounts"."recharge_to" IS NULL) AND ("payment_accounts"."recharge_below" IS NULL) = ("payment_accounts"."recharge_monthly_max" IS NULL) AND "payment_accounts"."recharge_below" < "payment_accounts"."recharge_to")
);
--> statement-breakpoint
CREATE TABLE "platform_keys" (
	"seq" bigint GENERATED ALWAYS AS IDENTITY (sequence name "platform_keys_seq_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"id" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"token_hash" text NOT NULL,
	"hint" text NOT NULL,
	"scopes" text NOT NULL,
	"addresses" text,
	"credit_per_day" bigint,
	"credit_day" bigint DEFAULT 0 NOT NULL,
	"credited" bigint DEFAULT 0 NOT NULL,
	"taken" bigint DEFAULT 0 NOT NULL,
	"users_made" bigint DEFAULT 0 NOT NULL,
	"created_by" text,
	"created_at" bigint NOT NULL,
	"expires_at" bigint,
	"revoked_at" bigint,
	"last_used_at" bigint,
	"last_addresses" text,
	CONSTRAINT "platform_keys_token_hash_unique" UNIQUE("token_hash")
);
--> statement-breakpoint
CREATE TABLE "probes" (
	"id" bigint PRIMARY KEY NOT NULL,
	"value" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "session_totals" (
	"user_id" text NOT NULL,
	"agent_id" text NOT NULL,
	"open" bigint NOT NULL,
	"completed" bigint NOT NULL,
	CONSTRAINT "session_totals_user_id_agent_id_pk" PRIMARY KEY("user_id","agent_id"),
	CONSTRAINT "sessions_not_negative" CHECK ("session_totals"."open" >= 0 AND "session_totals"."completed" >= 0)
);
--> statement-breakpoint
CREATE TABLE "sessions" (
	"seq" bigint GENERATED ALWAYS AS IDENTITY (sequence name "sessions_seq_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"id" text PRIMARY KEY NOT NULL,
	"user_id" text NOT NULL,
	"agent_id" text NOT NULL,
	"is_completed" bigint NOT NULL,
	"metadata" text NOT NULL,
	"message_count" bigint NOT NULL,
	"open_turn_id" text,
	"max_cost" bigint,
	"spent" bigint DEFAULT 0 NOT NULL,
	"tags" text,
	"title" text,
	"continues" text,
	"is_response" bigint DEFAULT 0 NOT NULL,
	"expiry_noted_at" bigint,
	"created_at" bigint NOT NULL,
	"updated_at" bigint NOT NULL,
	"active_at" bigint NOT NULL,
	CONSTRAINT "message_count_not_negative" CHECK ("sessions"."message_count" >= 0),
	CONSTRAINT "spent_within_cap" CHECK ("sessions"."spent" >= 0 AND ("sessions"."max_cost" IS NULL OR "sessions"."spent" <= "sessions"."max_cost"))
);
--> statement-breakpoint
CREATE TABLE "settings" (
	"name" text PRIMARY KEY NOT NULL,
	"value" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "spend_windows" (
	"owner_id" text NOT NULL,
	"starts_at" bigint NOT NULL,
	"user_id" text NOT NULL,
	"spend_limit" bigint NOT NULL,
	"charged" bigint NOT NULL,
	"held" bigint NOT NULL,
	"carried" bigint DEFAULT 0 NOT NULL,
	"reached_at" bigint,
	CONSTRAINT "spend_windows_owner_id_starts_at_pk" PRIMARY KEY("owner_id","starts_at"),
	CONSTRAINT "spent_within_limit" CHECK ("spend_windows"."charged" >= 0 AND "spend_windows"."held" >= 0 AND "spend_windows"."charged" + "spend_windows"."held" <= "spend_windows"."spend_limit")
);
--> statement-breakpoint
CREATE TABLE "task_tags" (
	"user_id" text NOT NULL,
	"tag" text NOT NULL,
	"task_created_at" bigint NOT NULL,
	"task_seq" bigint NOT NULL,
	CONSTRAINT "task_tags_user_id_tag_task_created_at_task_seq_pk" PRIMARY KEY("user_id","tag","task_created_at","task_seq")
);
--> statement-breakpoint
CREATE TABLE "tasks" (
	"seq" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "tasks_seq_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"id" text NOT NULL,
	"user_id" text NOT NULL,
	"agent_id" text NOT NULL,
	"endpoint_id" text NOT NULL,
	"status" text NOT NULL,
	"queued" bigint NOT NULL,
	"attempt" bigint NOT NULL,
	"cost" bigint NOT NULL,
	"given_back" bigint DEFAULT 0 NOT NULL,
	"key_id" text,
	"started_by" text,
	"provider_cost" bigint,
	"meters" text,
	"rates" text,
	"usage" text,
	"tags" text,
	"request" text NOT NULL,
	"request_payload" text,
	"response" text,
	"response_payload" text,
	"error_code" text,
	"error_message" text,
	"error_details" text,
	"connector_ids" text,
	"progress" text,
	"run_log" text,
	"webhook_url" text,
	"quote_id" text,
	"expires_at" bigint,
	"timeout_ms" bigint,
	"cancelable_until" bigint,
	"counted_in" text,
	"has_event" bigint,
	"created_at" bigint NOT NULL,
	"started_at" bigint,
	"completed_at" bigint,
	"pruned_at" bigint,
	"lease_until" bigint,
	CONSTRAINT "tasks_id_unique" UNIQUE("id"),
	CONSTRAINT "lease_at_work" CHECK ("tasks"."status" <> 'processing' OR "tasks"."queued" = 1 OR "tasks"."lease_until" IS NOT NULL),
	CONSTRAINT "lease_only_open" CHECK ("tasks"."completed_at" IS NULL OR "tasks"."lease_until" IS NULL),
	CONSTRAINT "status_known" CHECK ("tasks"."status" IN ('pending', 'processing', 'completed', 'failed')),
	CONSTRAINT "cost_not_negative" CHECK ("tasks"."cost" >= 0 AND "tasks"."given_back" >= 0),
	CONSTRAINT "given_back_when_completed" CHECK ("tasks"."given_back" = 0 OR "tasks"."status" = 'completed'),
	CONSTRAINT "queued_only_open" CHECK ("tasks"."queued" = 0 OR "tasks"."status" IN ('pending', 'processing')),
	CONSTRAINT "started_with_processing" CHECK (CASE "tasks"."status" WHEN 'pending' THEN "tasks"."started_at" IS NULL WHEN 'failed' THEN true ELSE "tasks"."started_at" IS NOT NULL END),
	CONSTRAINT "completed_with_end" CHECK (("tasks"."status" IN ('completed', 'failed')) = ("tasks"."completed_at" IS NOT NULL)),
	CONSTRAINT "response_when_completed" CHECK (("tasks"."status" = 'completed' AND "tasks"."pruned_at" IS NULL) = ("tasks"."response" IS NOT NULL)),
	CONSTRAINT "pruned_after_end" CHECK ("tasks"."pruned_at" IS NULL OR coalesce("tasks"."pruned_at" >= "tasks"."completed_at", false)),
	CONSTRAINT "error_when_failed" CHECK (("tasks"."status" = 'failed') = ("tasks"."error_code" IS NOT NULL)),
	CONSTRAINT "times_in_order" CHECK ("tasks"."started_at" >= "tasks"."created_at" AND "tasks"."completed_at" >= coalesce("tasks"."started_at", "tasks"."created_at"))
);
--> statement-breakpoint
CREATE TABLE "topups" (
	"id" text PRIMARY KEY NOT NULL,
	"user_id" text NOT NULL,
	"provider" text NOT NULL,
	"status" text NOT NULL,
	"amount" bigint NOT NULL,
	"is_auto" bigint NOT NULL,
	"checkout_id" text,
	"checkout_url" text,
	"payment_id" text,
	"receipt_url" text,
	"refunded" bigint DEFAULT 0 NOT NULL,
	"disputed" bigint DEFAULT 0 NOT NULL,
	"version" bigint DEFAULT 0 NOT NULL,
	"events" text,
	"created_at" bigint NOT NULL,
	"updated_at" bigint NOT NULL,
	"paid_at" bigint,
	CONSTRAINT "amount_above_zero" CHECK ("topups"."amount" > 0),
	CONSTRAINT "taken_back_of_amount" CHECK ("topups"."refunded" >= 0 AND "topups"."disputed" >= 0),
	CONSTRAINT "paid_at_of_paid" CHECK (("topups"."status" = 'paid') = ("topups"."paid_at" IS NOT NULL))
);
--> statement-breakpoint
CREATE TABLE "transactions" (
	"seq" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "transactions_seq_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"id" text NOT NULL,
	"user_id" text NOT NULL,
	"type" text NOT NULL,
	"amount" bigint NOT NULL,
	"balance_after" bigint NOT NULL,
	"task_id" text,
	"session_id" text,
	"turn_id" text,
	"description" text NOT NULL,
	"breakdown" text,
	"idempotency_key" text,
	"topup_id" text,
	"counted_in" text,
	"created_at" bigint NOT NULL,
	CONSTRAINT "transactions_id_unique" UNIQUE("id"),
	CONSTRAINT "balance_after_not_negative" CHECK ("transactions"."balance_after" >= 0)
);
--> statement-breakpoint
CREATE TABLE "trial_credits" (
	"identity_hash" text PRIMARY KEY NOT NULL,
	"created_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "turn_events" (
	"turn_id" text NOT NULL,
	"first_seq" bigint NOT NULL,
	"last_seq" bigint NOT NULL,
	"lines" text NOT NULL,
	"created_at" bigint NOT NULL,
	CONSTRAINT "turn_events_turn_id_first_seq_pk" PRIMARY KEY("turn_id","first_seq")
);
--> statement-breakpoint
CREATE TABLE "turns" (
	"seq" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "turns_seq_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"id" text NOT NULL,
	"user_id" text NOT NULL,
	"session_id" text NOT NULL,
	"agent_id" text NOT NULL,
	"key_id" text,
	"held" bigint NOT NULL,
	"cost" bigint,
	"provider_cost" bigint,
	"max_cost" bigint,
	"quote_id" text,
	"outcome" text,
	"counted_in" text,
	"has_event" bigint,
	"created_at" bigint NOT NULL,
	"settled_at" bigint,
	"lease_until" bigint,
	CONSTRAINT "turns_id_unique" UNIQUE("id"),
	CONSTRAINT "leased_while_open" CHECK (("turns"."settled_at" IS NULL) = ("turns"."lease_until" IS NOT NULL)),
	CONSTRAINT "within_cap" CHECK ("turns"."max_cost" IS NULL OR ("turns"."held" <= "turns"."max_cost" AND coalesce("turns"."cost", 0) <= "turns"."max_cost")),
	CONSTRAINT "held_while_open" CHECK ("turns"."held" >= 0 AND ("turns"."settled_at" IS NULL OR "turns"."held" = 0)),
	CONSTRAINT "cost_when_settled" CHECK (("turns"."settled_at" IS NULL) = ("turns"."cost" IS NULL)),
	CONSTRAINT "outcome_when_settled" CHECK (("turns"."settled_at" IS NULL) = ("turns"."outcome" IS NULL))
);
--> statement-breakpoint
CREATE TABLE "users" (
	"seq" bigint GENERATED ALWAYS AS IDENTITY (sequence name "users_seq_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"id" text PRIMARY KEY NOT NULL,
	"email" text NOT NULL,
	"password_hash" text,
	"is_admin" bigint NOT NULL,
	"created_at" bigint NOT NULL,
	"suspended_at" bigint,
	"external_id" text,
	"erased_at" bigint,
	"erased_to" bigint,
	CONSTRAINT "users_email_unique" UNIQUE("email")
);
--> statement-breakpoint
CREATE TABLE "webhooks" (
	"id" text PRIMARY KEY NOT NULL,
	"user_id" text NOT NULL,
	"url" text,
	"description" text NOT NULL,
	"types" text,
	"sealed" text NOT NULL,
	"previous_until" bigint,
	"disabled_at" bigint,
	"disabled_reason" text,
	"failing_since" bigint,
	"created_at" bigint NOT NULL,
	"updated_at" bigint NOT NULL,
	CONSTRAINT "disabled_for_a_reason" CHECK (("webhooks"."disabled_at" IS NULL) = ("webhooks"."disabled_reason" IS NULL))
);
--> statement-breakpoint
CREATE TABLE "wire_requests" (
	"user_id" text NOT NULL,
	"digest" text NOT NULL,
	"resource_id" text NOT NULL,
	"made_by" bigint NOT NULL,
	"retries" bigint NOT NULL,
	"left_at" bigint,
	"created_at" bigint NOT NULL,
	CONSTRAINT "wire_requests_user_id_digest_resource_id_pk" PRIMARY KEY("user_id","digest","resource_id")
);
--> statement-breakpoint
ALTER TABLE "accounts" ADD CONSTRAINT "accounts_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "client_tokens" ADD CONSTRAINT "client_tokens_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "connector_grants" ADD CONSTRAINT "connector_grants_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "connector_sign_ins" ADD CONSTRAINT "connector_sign_ins_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "connectors" ADD CONSTRAINT "connectors_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "identities" ADD CONSTRAINT "identities_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "logins" ADD CONSTRAINT "logins_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "messages" ADD CONSTRAINT "messages_session_id_sessions_id_fk" FOREIGN KEY ("session_id") REFERENCES "public"."sessions"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "payment_accounts" ADD CONSTRAINT "payment_accounts_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "tasks" ADD CONSTRAINT "tasks_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "topups" ADD CONSTRAINT "topups_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "abuse_failures_user" ON "abuse_failures" USING btree ("user_id","failed_at");--> statement-breakpoint
CREATE INDEX "accounts_owing" ON "accounts" USING btree ("owed") WHERE owed > 0;--> statement-breakpoint
CREATE INDEX "accounts_plan" ON "accounts" USING btree ("plan") WHERE plan IS NOT NULL;--> statement-breakpoint
CREATE INDEX "api_keys_user" ON "api_keys" USING btree ("user_id","created_at");--> statement-breakpoint
CREATE INDEX "api_keys_expires" ON "api_keys" USING btree ("expires_at","id") WHERE expires_at IS NOT NULL;--> statement-breakpoint
CREATE INDEX "client_tokens_live" ON "client_tokens" USING btree ("user_id","revoked_at","expires_at");--> statement-breakpoint
CREATE INDEX "client_tokens_expires" ON "client_tokens" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "client_tokens_creator" ON "client_tokens" USING btree ("created_by","expires_at");--> statement-breakpoint
CREATE INDEX "connector_sign_ins_connector" ON "connector_sign_ins" USING btree ("connector_id");--> statement-breakpoint
CREATE INDEX "connector_sign_ins_expiry" ON "connector_sign_ins" USING btree ("expires_at");--> statement-breakpoint
CREATE UNIQUE INDEX "connectors_user_name" ON "connectors" USING btree ("user_id","name");--> statement-breakpoint
CREATE INDEX "connectors_user" ON "connectors" USING btree ("user_id","created_at");--> statement-breakpoint
CREATE INDEX "deliveries_due" ON "deliveries" USING btree ("webhook_id","target","due_at") WHERE due_at IS NOT NULL;--> statement-breakpoint
CREATE INDEX "deliveries_webhook" ON "deliveries" USING btree ("webhook_id","status","created_at","event_id");--> statement-breakpoint
CREATE INDEX "idempotency_keys_created" ON "idempotency_keys" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "identities_user" ON "identities" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "invitations_created" ON "invitations" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "invitations_email" ON "invitations" USING btree ("email");--> statement-breakpoint
CREATE INDEX "login_attempts_email" ON "login_attempts" USING btree ("email_hash","at");--> statement-breakpoint
CREATE INDEX "login_attempts_client" ON "login_attempts" USING btree ("client","at");--> statement-breakpoint
CREATE INDEX "login_attempts_at" ON "login_attempts" USING btree ("at");--> statement-breakpoint
CREATE INDEX "logins_user" ON "logins" USING btree ("user_id","created_at");--> statement-breakpoint
CREATE INDEX "logins_expires" ON "logins" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "mails_due" ON "mails" USING btree ("due_at") WHERE due_at IS NOT NULL;--> statement-breakpoint
CREATE INDEX "mails_failed" ON "mails" USING btree ("status","attempted_at") WHERE error IS NOT NULL;--> statement-breakpoint
CREATE INDEX "mails_user" ON "mails" USING btree ("user_id","kind","created_at");--> statement-breakpoint
CREATE INDEX "mails_created" ON "mails" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "messages_session" ON "messages" USING btree ("session_id","seq");--> statement-breakpoint
CREATE INDEX "payload_parts_created" ON "payload_parts" USING btree ("created_at") WHERE part = 0;--> statement-breakpoint
CREATE INDEX "payloads_turn" ON "payloads" USING btree ("task_id") WHERE media_type IS NOT NULL;--> statement-breakpoint
CREATE INDEX "sessions_user" ON "sessions" USING btree ("user_id","created_at");--> statement-breakpoint
CREATE INDEX "sessions_user_active" ON "sessions" USING btree ("user_id","active_at","is_completed","agent_id");--> statement-breakpoint
CREATE INDEX "sessions_active" ON "sessions" USING btree ("active_at");--> statement-breakpoint
CREATE INDEX "sessions_empty" ON "sessions" USING btree ("user_id","active_at") WHERE message_count = 0;--> statement-breakpoint
CREATE INDEX "sessions_responses" ON "sessions" USING btree ("user_id","active_at") WHERE is_response = 1 AND message_count > 0;--> statement-breakpoint
CREATE INDEX "sessions_expiring" ON "sessions" USING btree ("active_at") WHERE is_completed = 0 AND (expiry_noted_at IS NULL OR expiry_noted_at < active_at);--> statement-breakpoint
CREATE INDEX "spend_windows_user" ON "spend_windows" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "spend_windows_starts" ON "spend_windows" USING btree ("starts_at");--> statement-breakpoint
CREATE INDEX "tasks_user" ON "tasks" USING btree ("user_id","created_at","seq");--> statement-breakpoint
CREATE INDEX "tasks_user_status" ON "tasks" USING btree ("user_id","status","created_at","seq");--> statement-breakpoint
CREATE INDEX "tasks_user_agent_status" ON "tasks" USING btree ("user_id","agent_id","status","created_at","seq");--> statement-breakpoint
CREATE INDEX "tasks_open" ON "tasks" USING btree ("queued","seq") WHERE completed_at IS NULL;--> statement-breakpoint
CREATE INDEX "tasks_waiting" ON "tasks" USING btree ("user_id","seq") WHERE queued = 1 AND completed_at IS NULL;--> statement-breakpoint
CREATE INDEX "tasks_expiring" ON "tasks" USING btree ("expires_at") WHERE expires_at IS NOT NULL AND started_at IS NULL AND completed_at IS NULL;--> statement-breakpoint
CREATE INDEX "tasks_failed" ON "tasks" USING btree ("completed_at") WHERE status = 'failed' AND error_code NOT IN ('CANCELED', 'EXPIRED');--> statement-breakpoint
CREATE UNIQUE INDEX "tasks_quote" ON "tasks" USING btree ("quote_id") WHERE quote_id IS NOT NULL;--> statement-breakpoint
CREATE INDEX "tasks_leased" ON "tasks" USING btree ("lease_until") WHERE lease_until IS NOT NULL;--> statement-breakpoint
CREATE INDEX "topups_user" ON "topups" USING btree ("user_id","created_at");--> statement-breakpoint
CREATE UNIQUE INDEX "topups_checkout" ON "topups" USING btree ("checkout_id") WHERE checkout_id IS NOT NULL;--> statement-breakpoint
CREATE INDEX "payment_accounts_recharge" ON "payment_accounts" USING btree ("user_id") WHERE recharge_topup_id IS NOT NULL OR recharge_below IS NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX "topups_payment" ON "topups" USING btree ("payment_id") WHERE payment_id IS NOT NULL;--> statement-breakpoint
CREATE INDEX "topups_created" ON "topups" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "topups_open" ON "topups" USING btree ("created_at") WHERE status = 'open';--> statement-breakpoint
CREATE INDEX "topups_paid" ON "topups" USING btree ("created_at") WHERE status = 'paid';--> statement-breakpoint
CREATE INDEX "transactions_user" ON "transactions" USING btree ("user_id","seq");--> statement-breakpoint
CREATE INDEX "transactions_user_type" ON "transactions" USING btree ("user_id","type","seq");--> statement-breakpoint
CREATE UNIQUE INDEX "transactions_task" ON "transactions" USING btree ("task_id","type") WHERE task_id IS NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX "transactions_turn" ON "transactions" USING btree ("turn_id") WHERE turn_id IS NOT NULL;--> statement-breakpoint
CREATE INDEX "transactions_session" ON "transactions" USING btree ("session_id","seq") WHERE session_id IS NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX "transactions_idempotency" ON "transactions" USING btree ("user_id","idempotency_key") WHERE idempotency_key IS NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX "transactions_topup" ON "transactions" USING btree ("topup_id") WHERE topup_id IS NOT NULL AND type = 'credit';--> statement-breakpoint
CREATE INDEX "transactions_counted" ON "transactions" USING btree ("counted_in","amount") WHERE counted_in IS NOT NULL;--> statement-breakpoint
CREATE INDEX "turn_events_created" ON "turn_events" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "turns_user" ON "turns" USING btree ("user_id","created_at");--> statement-breakpoint
CREATE INDEX "turns_open" ON "turns" USING btree ("user_id") WHERE settled_at IS NULL;--> statement-breakpoint
CREATE UNIQUE INDEX "turns_quote" ON "turns" USING btree ("quote_id") WHERE quote_id IS NOT NULL;--> statement-breakpoint
CREATE INDEX "turns_leased" ON "turns" USING btree ("lease_until") WHERE lease_until IS NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX "users_external" ON "users" USING btree ("external_id") WHERE external_id IS NOT NULL;--> statement-breakpoint
CREATE INDEX "users_admins" ON "users" USING btree ("id") WHERE is_admin = 1;--> statement-breakpoint
CREATE INDEX "users_erasing" ON "users" USING btree ("id") WHERE erased_to IS NOT NULL;--> statement-breakpoint
CREATE INDEX "users_made" ON "users" USING btree ("seq");--> statement-breakpoint
CREATE INDEX "webhooks_user" ON "webhooks" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "wire_requests_created" ON "wire_requests" USING btree ("created_at");--> statement-breakpoint
CREATE FUNCTION "refuse_change"() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION '%', TG_ARGV[0] USING ERRCODE = 'restrict_violation'; END $$;--> statement-breakpoint
CREATE TRIGGER "transactions_no_change" BEFORE UPDATE OR DELETE ON "transactions" FOR EACH ROW EXECUTE FUNCTION "refuse_change"('transactions are append-only');--> statement-breakpoint
CREATE TRIGGER "transactions_no_truncate" BEFORE TRUNCATE ON "transactions" FOR EACH STATEMENT EXECUTE FUNCTION "refuse_change"('transactions are append-only');--> statement-breakpoint
CREATE TRIGGER "audit_log_no_change" BEFORE UPDATE OR DELETE ON "audit_log" FOR EACH ROW EXECUTE FUNCTION "refuse_change"('the audit log is append-only');--> statement-breakpoint
CREATE TRIGGER "audit_log_no_truncate" BEFORE TRUNCATE ON "audit_log" FOR EACH STATEMENT EXECUTE FUNCTION "refuse_change"('the audit log is append-only');--> statement-breakpoint
CREATE TRIGGER "tasks_terminal" BEFORE UPDATE ON "tasks" FOR EACH ROW WHEN (OLD."status" IN ('completed', 'failed') AND NOT (NEW."pruned_at" IS NOT NULL AND (OLD."pruned_at" IS NULL OR (OLD."tags" IS NOT NULL OR OLD."webhook_url" IS NOT NULL) AND NEW."tags" IS NULL AND NEW."webhook_url" IS NULL) AND NEW."status" = OLD."status" AND NEW."cost" = OLD."cost" AND NEW."given_back" = OLD."given_back")) EXECUTE FUNCTION "refuse_change"('a finished task never changes');--> statement-breakpoint
CREATE TRIGGER "turns_settled" BEFORE UPDATE ON "turns" FOR EACH ROW WHEN (OLD."settled_at" IS NOT NULL) EXECUTE FUNCTION "refuse_change"('a settled turn never changes');--> statement-breakpoint
CREATE FUNCTION "count_session"() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$ BEGIN
IF TG_OP <> 'INSERT' THEN
  UPDATE "session_totals" SET "open" = "open" - 1 + OLD."is_completed", "completed" = "completed" - OLD."is_completed" WHERE "user_id" = OLD."user_id" AND "agent_id" = OLD."agent_id";
END IF;
IF TG_OP <> 'DELETE' THEN
  INSERT INTO "session_totals" ("user_id", "agent_id", "open", "completed") VALUES (NEW."user_id", NEW."agent_id", 1 - NEW."is_completed", NEW."is_completed")
  ON CONFLICT ("user_id", "agent_id") DO UPDATE SET "open" = "session_totals"."open" + excluded."open", "completed" = "session_totals"."completed" + excluded."completed";
END IF;
RETURN NULL; END $$;--> statement-breakpoint
CREATE TRIGGER "sessions_counted" AFTER INSERT OR DELETE ON "sessions" FOR EACH ROW EXECUTE FUNCTION "count_session"();--> statement-breakpoint
CREATE TRIGGER "sessions_ended" AFTER UPDATE OF "is_completed" ON "sessions" FOR EACH ROW WHEN (OLD."is_completed" <> NEW."is_completed") EXECUTE FUNCTION "count_session"();--> statement-breakpoint
CREATE FUNCTION "index_tags"() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$ BEGIN
INSERT INTO "task_tags" ("user_id", "tag", "task_created_at", "task_seq") SELECT NEW."user_id", "key" || ':' || "value", NEW."created_at", NEW."seq" FROM json_each_text(CAST(NEW."tags" AS json));
RETURN NULL; END $$;--> statement-breakpoint
CREATE TRIGGER "tasks_tagged" AFTER INSERT ON "tasks" FOR EACH ROW WHEN (NEW."tags" IS NOT NULL) EXECUTE FUNCTION "index_tags"();--> statement-breakpoint
INSERT INTO "probes" ("id", "value") VALUES (1, 0);
