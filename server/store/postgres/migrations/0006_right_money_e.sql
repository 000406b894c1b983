ALTER TABLE "accounts" ADD COLUMN "platform_credited" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "platform_keys" ADD COLUMN "taken" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "transactions" ADD COLUMN "platform_key_id" text;