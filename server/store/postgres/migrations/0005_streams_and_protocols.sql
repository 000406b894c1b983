CREATE TABLE "connector_grants" (
	"connector_id" text PRIMARY KEY NOT NULL,
	"user_id" text NOT NULL,
	"issuer" text NOT NULL,
	"sealed" text NOT NULL,
	"expires_at" bigint,
	"refresh_until" bigint,
	"version" bigint NOT NULL,
	"updated_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "connector_sign_ins" (
	"state_hash" text PRIMARY KEY NOT NULL,
	"connector_id" text NOT NULL,
	"user_id" text NOT NULL,
	"sealed" text NOT NULL,
	"created_at" bigint NOT NULL,
	"expires_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "turn_events" (
	"turn_id" text NOT NULL,
	"first_seq" bigint NOT NULL,
	"last_seq" bigint NOT NULL,
	"lines" text NOT NULL,
	"created_at" bigint NOT NULL,
	CONSTRAINT "turn_events_turn_id_first_seq_pk" PRIMARY KEY("turn_id","first_seq")
);
--> statement-breakpoint
ALTER TABLE "messages" ADD COLUMN "parts" text;--> statement-breakpoint
ALTER TABLE "payloads" ADD COLUMN "media_type" text;--> statement-breakpoint
ALTER TABLE "payloads" ADD COLUMN "filename" text;--> statement-breakpoint
ALTER TABLE "connector_grants" ADD CONSTRAINT "connector_grants_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "connector_sign_ins" ADD CONSTRAINT "connector_sign_ins_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "connector_sign_ins_connector" ON "connector_sign_ins" USING btree ("connector_id");--> statement-breakpoint
CREATE INDEX "connector_sign_ins_expiry" ON "connector_sign_ins" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "payloads_turn" ON "payloads" USING btree ("task_id") WHERE media_type IS NOT NULL;--> statement-breakpoint
CREATE INDEX "turn_events_created" ON "turn_events" USING btree ("created_at");