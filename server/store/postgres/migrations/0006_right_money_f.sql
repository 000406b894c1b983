ALTER TABLE "api_keys" ADD COLUMN "limited_at" bigint;--> statement-breakpoint
ALTER TABLE "events" ADD COLUMN "digest" text;--> statement-breakpoint
ALTER TABLE "events" ADD COLUMN "deliveries" bigint;--> statement-breakpoint
ALTER TABLE "payment_events" ADD COLUMN "event_count" bigint;--> statement-breakpoint
ALTER TABLE "transactions" ADD COLUMN "counted_in" text;--> statement-breakpoint
UPDATE "api_keys" SET "limited_at" = CAST(extract(epoch FROM now()) AS bigint) * 1000 WHERE "spend_limit" IS NOT NULL;--> statement-breakpoint
INSERT INTO "settings" SELECT 'windows-since', CAST(CAST(extract(epoch FROM now()) AS bigint) * 1000 - 131 * CAST(86400000 AS bigint) AS text) WHERE EXISTS (SELECT 1 FROM "users");--> statement-breakpoint
INSERT INTO "settings" SELECT 'credits-since', CAST(CAST(extract(epoch FROM now()) AS bigint) * 1000 AS text) WHERE EXISTS (SELECT 1 FROM "users");
