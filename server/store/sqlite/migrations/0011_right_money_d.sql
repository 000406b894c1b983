DROP TABLE `payment_events`;--> statement-breakpoint
ALTER TABLE `topups` ADD `version` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `topups` DROP COLUMN `disputes`;