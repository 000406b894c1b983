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
ALTER TABLE "accounts" ADD COLUMN "platform_credited" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "platform_keys" ADD COLUMN "taken" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "spend_windows" ADD COLUMN "carried" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "transactions" ADD COLUMN "platform_key_id" text;--> statement-breakpoint
CREATE INDEX "wire_requests_created" ON "wire_requests" USING btree ("created_at");