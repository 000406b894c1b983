ALTER TABLE `accounts` ADD `platform_credited` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `platform_keys` ADD `taken` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `transactions` ADD `platform_key_id` text;