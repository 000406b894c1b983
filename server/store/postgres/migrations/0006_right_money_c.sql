ALTER TABLE "accounts" ADD COLUMN "connectors_blocked_until" bigint;--> statement-breakpoint
ALTER TABLE "tasks" ADD COLUMN "cancelable_until" bigint;