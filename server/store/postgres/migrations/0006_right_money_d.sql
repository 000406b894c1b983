DROP TABLE "payment_events" CASCADE;--> statement-breakpoint
ALTER TABLE "topups" ADD COLUMN "version" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "topups" DROP COLUMN "disputes";