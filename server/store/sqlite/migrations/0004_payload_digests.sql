ALTER TABLE `payloads` ADD `bytes` integer;--> statement-breakpoint
ALTER TABLE `payloads` ADD `sha256` text;