ALTER TABLE "tasks" ADD COLUMN "has_event" bigint;--> statement-breakpoint
ALTER TABLE "turns" ADD COLUMN "has_event" bigint;