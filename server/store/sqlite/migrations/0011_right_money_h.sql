DROP INDEX `client_tokens_user`;--> statement-breakpoint
CREATE INDEX `client_tokens_live` ON `client_tokens` (`user_id`,`revoked_at`,`expires_at`);--> statement-breakpoint
CREATE INDEX `users_admins` ON `users` (`id`) WHERE is_admin = 1;