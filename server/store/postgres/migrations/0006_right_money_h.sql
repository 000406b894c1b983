DROP INDEX "client_tokens_user";--> statement-breakpoint
CREATE INDEX "client_tokens_live" ON "client_tokens" USING btree ("user_id","revoked_at","expires_at");--> statement-breakpoint
CREATE INDEX "users_admins" ON "users" USING btree ("id") WHERE is_admin = 1;