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
CREATE TABLE "key_rates" (
	"key_id" text PRIMARY KEY NOT NULL,
	"starts_at" bigint NOT NULL,
	"used" bigint NOT NULL
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
CREATE TABLE "payment_events" (
	"provider" text NOT NULL,
	"event_id" text NOT NULL,
	"type" text NOT NULL,
	"topup_id" text,
	"outcome" text NOT NULL,
	"received_at" bigint NOT NULL,
	CONSTRAINT "payment_events_provider_event_id_pk" PRIMARY KEY("provider","event_id")
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
	"created_by" text,
	"created_at" bigint NOT NULL,
	"expires_at" bigint,
	"revoked_at" bigint,
	"last_used_at" bigint,
	CONSTRAINT "platform_keys_token_hash_unique" UNIQUE("token_hash")
);
--> statement-breakpoint
CREATE TABLE "spend_windows" (
	"owner_id" text NOT NULL,
	"starts_at" bigint NOT NULL,
	"user_id" text NOT NULL,
	"spend_limit" bigint NOT NULL,
	"charged" bigint NOT NULL,
	"held" bigint NOT NULL,
	"reached_at" bigint,
	CONSTRAINT "spend_windows_owner_id_starts_at_pk" PRIMARY KEY("owner_id","starts_at"),
	CONSTRAINT "spent_within_limit" CHECK ("spend_windows"."charged" >= 0 AND "spend_windows"."held" >= 0 AND "spend_windows"."charged" + "spend_windows"."held" <= "spend_windows"."spend_limit")
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
	"disputes" text,
	"created_at" bigint NOT NULL,
	"updated_at" bigint NOT NULL,
	"paid_at" bigint,
	CONSTRAINT "amount_above_zero" CHECK ("topups"."amount" > 0),
	CONSTRAINT "taken_back_of_amount" CHECK ("topups"."refunded" >= 0 AND "topups"."disputed" >= 0),
	CONSTRAINT "paid_at_of_paid" CHECK (("topups"."status" = 'paid') = ("topups"."paid_at" IS NOT NULL))
);
--> statement-breakpoint
ALTER TABLE "accounts" ADD COLUMN "owed" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "accounts" ADD COLUMN "plan" text;--> statement-breakpoint
ALTER TABLE "accounts" ADD COLUMN "limits" text;--> statement-breakpoint
ALTER TABLE "accounts" ADD COLUMN "notify_below" bigint;--> statement-breakpoint
ALTER TABLE "accounts" ADD COLUMN "low_at" bigint;--> statement-breakpoint
ALTER TABLE "api_keys" ADD COLUMN "spend_limit" bigint;--> statement-breakpoint
ALTER TABLE "api_keys" ADD COLUMN "spend_reset" text;--> statement-breakpoint
ALTER TABLE "api_keys" ADD COLUMN "rate_limit" bigint;--> statement-breakpoint
ALTER TABLE "api_keys" ADD COLUMN "counts_as" text;--> statement-breakpoint
ALTER TABLE "api_keys" ADD COLUMN "agents" text;--> statement-breakpoint
ALTER TABLE "tasks" ADD COLUMN "counted_in" text;--> statement-breakpoint
ALTER TABLE "transactions" ADD COLUMN "topup_id" text;--> statement-breakpoint
ALTER TABLE "turns" ADD COLUMN "counted_in" text;--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "external_id" text;--> statement-breakpoint
ALTER TABLE "client_tokens" ADD CONSTRAINT "client_tokens_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "payment_accounts" ADD CONSTRAINT "payment_accounts_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "topups" ADD CONSTRAINT "topups_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "client_tokens_user" ON "client_tokens" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "client_tokens_expires" ON "client_tokens" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "payment_events_topup" ON "payment_events" USING btree ("topup_id");--> statement-breakpoint
CREATE INDEX "payment_events_received" ON "payment_events" USING btree ("received_at");--> statement-breakpoint
CREATE INDEX "spend_windows_user" ON "spend_windows" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "spend_windows_starts" ON "spend_windows" USING btree ("starts_at");--> statement-breakpoint
CREATE INDEX "topups_user" ON "topups" USING btree ("user_id","created_at");--> statement-breakpoint
CREATE UNIQUE INDEX "topups_checkout" ON "topups" USING btree ("checkout_id") WHERE checkout_id IS NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX "topups_payment" ON "topups" USING btree ("payment_id") WHERE payment_id IS NOT NULL;--> statement-breakpoint
CREATE INDEX "topups_created" ON "topups" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "tasks_waiting" ON "tasks" USING btree ("user_id","seq") WHERE queued = 1 AND completed_at IS NULL;--> statement-breakpoint
CREATE UNIQUE INDEX "transactions_topup" ON "transactions" USING btree ("topup_id") WHERE topup_id IS NOT NULL AND type = 'credit';--> statement-breakpoint
CREATE UNIQUE INDEX "users_external" ON "users" USING btree ("external_id") WHERE external_id IS NOT NULL;--> statement-breakpoint
ALTER TABLE "accounts" ADD CONSTRAINT "owed_not_negative" CHECK ("accounts"."owed" >= 0);--> statement-breakpoint
DROP SCHEMA IF EXISTS errand_jobs CASCADE;--> statement-breakpoint
CREATE INDEX "accounts_owing" ON "accounts" USING btree ("owed") WHERE owed > 0;--> statement-breakpoint
CREATE INDEX "accounts_plan" ON "accounts" USING btree ("plan") WHERE plan IS NOT NULL;