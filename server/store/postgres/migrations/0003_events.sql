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
	"created_at" bigint NOT NULL
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
ALTER TABLE "webhooks" ADD CONSTRAINT "webhooks_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "deliveries_due" ON "deliveries" USING btree ("webhook_id","target","due_at") WHERE due_at IS NOT NULL;--> statement-breakpoint
CREATE INDEX "deliveries_webhook" ON "deliveries" USING btree ("webhook_id","status","created_at","event_id");--> statement-breakpoint
CREATE INDEX "webhooks_user" ON "webhooks" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "sessions_expiring" ON "sessions" USING btree ("active_at") WHERE is_completed = 0 AND (expiry_noted_at IS NULL OR expiry_noted_at < active_at);--> statement-breakpoint
INSERT INTO "settings" ("name", "value") SELECT 'events-since', CAST(newest AS text) FROM (SELECT max(at) AS newest FROM (SELECT max("completed_at") AS at FROM "tasks" UNION ALL SELECT max("settled_at") FROM "turns" UNION ALL SELECT max("created_at") FROM "transactions") AS times) AS ends WHERE newest IS NOT NULL;--> statement-breakpoint
UPDATE "sessions" SET "expiry_noted_at" = "active_at" WHERE "active_at" <= (SELECT max("active_at") - 86400000 FROM "sessions");
