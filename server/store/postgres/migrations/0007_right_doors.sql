ALTER TABLE "accounts" ADD COLUMN "payload_bytes" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "accounts" ADD COLUMN "payloads_since" bigint;--> statement-breakpoint
ALTER TABLE "payloads" ADD COLUMN "tokens" bigint;--> statement-breakpoint
ALTER TABLE "platform_keys" ADD COLUMN "users_made" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "sessions" ADD COLUMN "is_response" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX "sessions_responses" ON "sessions" USING btree ("user_id","active_at") WHERE is_response = 1 AND message_count > 0;--> statement-breakpoint
CREATE INDEX "topups_paid" ON "topups" USING btree ("created_at") WHERE status = 'paid';--> statement-breakpoint
CREATE INDEX "users_made" ON "users" USING btree ("seq");