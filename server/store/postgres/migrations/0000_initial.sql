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
	CONSTRAINT "balance_covers_held" CHECK ("accounts"."held" >= 0 AND "accounts"."held" <= "accounts"."balance")
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
	CONSTRAINT "api_keys_token_hash_unique" UNIQUE("token_hash")
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
CREATE TABLE "messages" (
	"seq" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "messages_seq_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"id" text NOT NULL,
	"session_id" text NOT NULL,
	"turn_id" text NOT NULL,
	"role" text NOT NULL,
	"content" text NOT NULL,
	"tool_calls" text,
	"is_truncated" bigint NOT NULL,
	"tokens" bigint NOT NULL,
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
	"sha256" text
);
--> statement-breakpoint
CREATE TABLE "probes" (
	"id" bigint PRIMARY KEY NOT NULL,
	"value" bigint NOT NULL
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
	"created_at" bigint NOT NULL,
	"updated_at" bigint NOT NULL,
	"active_at" bigint NOT NULL,
	CONSTRAINT "message_count_not_negative" CHECK ("sessions"."message_count" >= 0)
);
--> statement-breakpoint
CREATE TABLE "settings" (
	"name" text PRIMARY KEY NOT NULL,
	"value" text NOT NULL
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
	"request" text NOT NULL,
	"request_payload" text,
	"response" text,
	"response_payload" text,
	"error_code" text,
	"error_message" text,
	"error_details" text,
	"connector_ids" text,
	"created_at" bigint NOT NULL,
	"started_at" bigint,
	"completed_at" bigint,
	"lease_until" bigint,
	CONSTRAINT "tasks_id_unique" UNIQUE("id"),
	CONSTRAINT "lease_at_work" CHECK ("tasks"."status" <> 'processing' OR "tasks"."queued" = 1 OR "tasks"."lease_until" IS NOT NULL),
	CONSTRAINT "lease_only_open" CHECK ("tasks"."completed_at" IS NULL OR "tasks"."lease_until" IS NULL),
	CONSTRAINT "status_known" CHECK ("tasks"."status" IN ('pending', 'processing', 'completed', 'failed')),
	CONSTRAINT "cost_not_negative" CHECK ("tasks"."cost" >= 0),
	CONSTRAINT "queued_only_open" CHECK ("tasks"."queued" = 0 OR "tasks"."status" IN ('pending', 'processing')),
	CONSTRAINT "started_with_processing" CHECK (("tasks"."status" = 'pending') = ("tasks"."started_at" IS NULL)),
	CONSTRAINT "completed_with_end" CHECK (("tasks"."status" IN ('completed', 'failed')) = ("tasks"."completed_at" IS NOT NULL)),
	CONSTRAINT "response_when_completed" CHECK (("tasks"."status" = 'completed') = ("tasks"."response" IS NOT NULL)),
	CONSTRAINT "error_when_failed" CHECK (("tasks"."status" = 'failed') = ("tasks"."error_code" IS NOT NULL)),
	CONSTRAINT "times_in_order" CHECK ("tasks"."started_at" >= "tasks"."created_at" AND "tasks"."completed_at" >= "tasks"."started_at")
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
	"created_at" bigint NOT NULL,
	CONSTRAINT "transactions_id_unique" UNIQUE("id"),
	CONSTRAINT "balance_after_not_negative" CHECK ("transactions"."balance_after" >= 0)
);
--> statement-breakpoint
CREATE TABLE "turns" (
	"seq" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "turns_seq_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"id" text NOT NULL,
	"user_id" text NOT NULL,
	"session_id" text NOT NULL,
	"agent_id" text NOT NULL,
	"held" bigint NOT NULL,
	"cost" bigint,
	"outcome" text,
	"created_at" bigint NOT NULL,
	"settled_at" bigint,
	"lease_until" bigint,
	CONSTRAINT "turns_id_unique" UNIQUE("id"),
	CONSTRAINT "leased_while_open" CHECK (("turns"."settled_at" IS NULL) = ("turns"."lease_until" IS NOT NULL)),
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
	CONSTRAINT "users_email_unique" UNIQUE("email")
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
	"created_by" text NOT NULL,
	"created_at" bigint NOT NULL,
	"expires_at" bigint NOT NULL,
	"accepted_at" bigint,
	CONSTRAINT "invitations_token_hash_unique" UNIQUE("token_hash"),
	CONSTRAINT "credit_not_negative" CHECK ("invitations"."credit" >= 0),
	CONSTRAINT "password_of_a_user" CHECK ("invitations"."kind" = 'invitation' OR "invitations"."user_id" IS NOT NULL)
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
ALTER TABLE "accounts" ADD CONSTRAINT "accounts_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "connectors" ADD CONSTRAINT "connectors_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "messages" ADD CONSTRAINT "messages_session_id_sessions_id_fk" FOREIGN KEY ("session_id") REFERENCES "public"."sessions"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "tasks" ADD CONSTRAINT "tasks_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "identities" ADD CONSTRAINT "identities_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "logins" ADD CONSTRAINT "logins_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "abuse_failures_user" ON "abuse_failures" USING btree ("user_id","failed_at");--> statement-breakpoint
CREATE INDEX "api_keys_user" ON "api_keys" USING btree ("user_id","created_at");--> statement-breakpoint
CREATE UNIQUE INDEX "connectors_user_name" ON "connectors" USING btree ("user_id","name");--> statement-breakpoint
CREATE INDEX "connectors_user" ON "connectors" USING btree ("user_id","created_at");--> statement-breakpoint
CREATE INDEX "idempotency_keys_created" ON "idempotency_keys" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "messages_session" ON "messages" USING btree ("session_id","seq");--> statement-breakpoint
CREATE INDEX "payload_parts_created" ON "payload_parts" USING btree ("created_at") WHERE part = 0;--> statement-breakpoint
CREATE INDEX "sessions_user" ON "sessions" USING btree ("user_id","created_at");--> statement-breakpoint
CREATE INDEX "sessions_user_active" ON "sessions" USING btree ("user_id","is_completed","active_at","agent_id");--> statement-breakpoint
CREATE INDEX "tasks_user" ON "tasks" USING btree ("user_id","created_at","seq");--> statement-breakpoint
CREATE INDEX "tasks_user_status" ON "tasks" USING btree ("user_id","status","created_at","seq");--> statement-breakpoint
CREATE INDEX "tasks_user_agent_status" ON "tasks" USING btree ("user_id","agent_id","status","created_at","seq");--> statement-breakpoint
CREATE INDEX "tasks_open" ON "tasks" USING btree ("queued","seq") WHERE completed_at IS NULL;--> statement-breakpoint
CREATE INDEX "tasks_leased" ON "tasks" USING btree ("lease_until") WHERE lease_until IS NOT NULL;--> statement-breakpoint
CREATE INDEX "transactions_user" ON "transactions" USING btree ("user_id","seq");--> statement-breakpoint
CREATE INDEX "transactions_user_type" ON "transactions" USING btree ("user_id","type","seq");--> statement-breakpoint
CREATE UNIQUE INDEX "transactions_task" ON "transactions" USING btree ("task_id","type") WHERE task_id IS NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX "transactions_turn" ON "transactions" USING btree ("turn_id") WHERE turn_id IS NOT NULL;--> statement-breakpoint
CREATE INDEX "transactions_session" ON "transactions" USING btree ("session_id","seq") WHERE session_id IS NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX "transactions_idempotency" ON "transactions" USING btree ("user_id","idempotency_key") WHERE idempotency_key IS NOT NULL;--> statement-breakpoint
CREATE INDEX "turns_user" ON "turns" USING btree ("user_id","created_at");--> statement-breakpoint
CREATE INDEX "turns_open" ON "turns" USING btree ("user_id") WHERE settled_at IS NULL;--> statement-breakpoint
CREATE INDEX "turns_leased" ON "turns" USING btree ("lease_until") WHERE lease_until IS NOT NULL;--> statement-breakpoint
CREATE INDEX "identities_user" ON "identities" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "invitations_created" ON "invitations" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "login_attempts_email" ON "login_attempts" USING btree ("email_hash","at");--> statement-breakpoint
CREATE INDEX "login_attempts_client" ON "login_attempts" USING btree ("client","at");--> statement-breakpoint
CREATE INDEX "login_attempts_at" ON "login_attempts" USING btree ("at");--> statement-breakpoint
CREATE INDEX "logins_user" ON "logins" USING btree ("user_id","created_at");--> statement-breakpoint
CREATE INDEX "logins_expires" ON "logins" USING btree ("expires_at");--> statement-breakpoint
CREATE FUNCTION "refuse_change"() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION '%', TG_ARGV[0] USING ERRCODE = 'restrict_violation'; END $$;--> statement-breakpoint
CREATE TRIGGER "transactions_no_change" BEFORE UPDATE OR DELETE ON "transactions" FOR EACH ROW EXECUTE FUNCTION "refuse_change"('transactions are append-only');--> statement-breakpoint
CREATE TRIGGER "transactions_no_truncate" BEFORE TRUNCATE ON "transactions" FOR EACH STATEMENT EXECUTE FUNCTION "refuse_change"('transactions are append-only');--> statement-breakpoint
CREATE TRIGGER "tasks_terminal" BEFORE UPDATE ON "tasks" FOR EACH ROW WHEN (OLD."status" IN ('completed', 'failed')) EXECUTE FUNCTION "refuse_change"('a finished task never changes');--> statement-breakpoint
CREATE TRIGGER "turns_settled" BEFORE UPDATE ON "turns" FOR EACH ROW WHEN (OLD."settled_at" IS NOT NULL) EXECUTE FUNCTION "refuse_change"('a settled turn never changes');--> statement-breakpoint
INSERT INTO "probes" ("id", "value") VALUES (1, 0);

