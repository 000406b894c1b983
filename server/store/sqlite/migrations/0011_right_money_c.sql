ALTER TABLE `accounts` ADD `connectors_blocked_until` integer;--> statement-breakpoint
ALTER TABLE `tasks` ADD `cancelable_until` integer;