ALTER TABLE "tasks" DROP CONSTRAINT "cost_not_negative";--> statement-breakpoint
ALTER TABLE "tasks" DROP CONSTRAINT "started_with_processing";--> statement-breakpoint
ALTER TABLE "tasks" DROP CONSTRAINT "times_in_order";--> statement-breakpoint
ALTER TABLE "sessions" ADD COLUMN "max_cost" bigint;--> statement-breakpoint
ALTER TABLE "sessions" ADD COLUMN "spent" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "sessions" ADD COLUMN "tags" text;--> statement-breakpoint
ALTER TABLE "sessions" ADD COLUMN "expiry_noted_at" bigint;--> statement-breakpoint
ALTER TABLE "tasks" ADD COLUMN "given_back" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "tasks" ADD COLUMN "meters" text;--> statement-breakpoint
ALTER TABLE "tasks" ADD COLUMN "usage" text;--> statement-breakpoint
ALTER TABLE "tasks" ADD COLUMN "tags" text;--> statement-breakpoint
ALTER TABLE "tasks" ADD COLUMN "progress" text;--> statement-breakpoint
ALTER TABLE "tasks" ADD COLUMN "webhook_url" text;--> statement-breakpoint
ALTER TABLE "tasks" ADD COLUMN "quote_id" text;--> statement-breakpoint
ALTER TABLE "tasks" ADD COLUMN "expires_at" bigint;--> statement-breakpoint
ALTER TABLE "tasks" ADD COLUMN "timeout_ms" bigint;--> statement-breakpoint
ALTER TABLE "turns" ADD COLUMN "max_cost" bigint;--> statement-breakpoint
ALTER TABLE "turns" ADD COLUMN "quote_id" text;--> statement-breakpoint
UPDATE "sessions" SET "spent" = (SELECT coalesce(-sum("amount"), 0) FROM "transactions" WHERE "session_id" = "sessions"."id" AND "session_id" IS NOT NULL);--> statement-breakpoint
CREATE INDEX "tasks_expiring" ON "tasks" USING btree ("expires_at") WHERE expires_at IS NOT NULL AND started_at IS NULL AND completed_at IS NULL;--> statement-breakpoint
CREATE UNIQUE INDEX "tasks_quote" ON "tasks" USING btree ("quote_id") WHERE quote_id IS NOT NULL;--> statement-breakpoint
CREATE UNIQUE INDEX "turns_quote" ON "turns" USING btree ("quote_id") WHERE quote_id IS NOT NULL;--> statement-breakpoint
ALTER TABLE "sessions" ADD CONSTRAINT "spent_within_cap" CHECK ("sessions"."spent" >= 0 AND ("sessions"."max_cost" IS NULL OR "sessions"."spent" <= "sessions"."max_cost"));--> statement-breakpoint
ALTER TABLE "tasks" ADD CONSTRAINT "given_back_when_completed" CHECK ("tasks"."given_back" = 0 OR "tasks"."status" = 'completed');--> statement-breakpoint
ALTER TABLE "tasks" ADD CONSTRAINT "cost_not_negative" CHECK ("tasks"."cost" >= 0 AND "tasks"."given_back" >= 0);--> statement-breakpoint
ALTER TABLE "tasks" ADD CONSTRAINT "started_with_processing" CHECK (CASE "tasks"."status" WHEN 'pending' THEN "tasks"."started_at" IS NULL WHEN 'failed' THEN true ELSE "tasks"."started_at" IS NOT NULL END);--> statement-breakpoint
ALTER TABLE "tasks" ADD CONSTRAINT "times_in_order" CHECK ("tasks"."started_at" >= "tasks"."created_at" AND "tasks"."completed_at" >= coalesce("tasks"."started_at", "tasks"."created_at"));--> statement-breakpoint
ALTER TABLE "turns" ADD CONSTRAINT "within_cap" CHECK ("turns"."max_cost" IS NULL OR ("turns"."held" <= "turns"."max_cost" AND coalesce("turns"."cost", 0) <= "turns"."max_cost"));