ALTER TABLE `tasks` ADD `has_event` integer;--> statement-breakpoint
ALTER TABLE `turns` ADD `has_event` integer;