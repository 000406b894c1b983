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
ALTER TABLE "payment_events" DISABLE ROW LEVEL SECURITY;--> statement-breakpoint
DROP TABLE "payment_events" CASCADE;--> statement-breakpoint
DROP INDEX "client_tokens_user";--> statement-breakpoint
ALTER TABLE "accounts" ADD COLUMN "connectors_blocked_until" bigint;--> statement-breakpoint
ALTER TABLE "accounts" ADD COLUMN "platform_credited" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "accounts" ADD COLUMN "carried" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "accounts" ADD COLUMN "written_off" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "accounts" ADD COLUMN "written_off_on" bigint;--> statement-breakpoint
ALTER TABLE "api_keys" ADD COLUMN "limited_at" bigint;--> statement-breakpoint
ALTER TABLE "events" ADD COLUMN "digest" text;--> statement-breakpoint
ALTER TABLE "events" ADD COLUMN "deliveries" bigint;--> statement-breakpoint
ALTER TABLE "platform_keys" ADD COLUMN "taken" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "spend_windows" ADD COLUMN "carried" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "tasks" ADD COLUMN "cancelable_until" bigint;--> statement-breakpoint
ALTER TABLE "topups" ADD COLUMN "version" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "topups" ADD COLUMN "events" text;--> statement-breakpoint
ALTER TABLE "transactions" ADD COLUMN "counted_in" text;--> statement-breakpoint
CREATE INDEX "wire_requests_created" ON "wire_requests" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "client_tokens_live" ON "client_tokens" USING btree ("user_id","revoked_at","expires_at");--> statement-breakpoint
CREATE INDEX "topups_open" ON "topups" USING btree ("created_at") WHERE status = 'open';--> statement-breakpoint
CREATE INDEX "users_admins" ON "users" USING btree ("id") WHERE is_admin = 1;--> statement-breakpoint
ALTER TABLE "topups" DROP COLUMN "disputes";
--> statement-breakpoint
UPDATE "api_keys" SET "limited_at" = CAST(extract(epoch FROM now()) AS bigint) * 1000 WHERE "spend_limit" IS NOT NULL;--> statement-breakpoint
INSERT INTO "settings" SELECT 'windows-since', CAST(CAST(extract(epoch FROM now()) AS bigint) * 1000 - 131 * CAST(86400000 AS bigint) AS text) WHERE EXISTS (SELECT 1 FROM "users");--> statement-breakpoint
INSERT INTO "settings" SELECT 'credits-since', CAST(CAST(extract(epoch FROM now()) AS bigint) * 1000 AS text) WHERE EXISTS (SELECT 1 FROM "users");
