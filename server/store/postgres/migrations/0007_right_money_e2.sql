CREATE TABLE "wire_requests" (
	"user_id" text NOT NULL,
	"digest" text NOT NULL,
	"resource_id" text NOT NULL,
	"made_by" bigint NOT NULL,
	"retries" bigint NOT NULL,
	"left_at" bigint,
	"created_at" bigint NOT NULL,
	CONSTRAINT "wire_requests_user_id_digest_resource_id_pk" PRIMARY KEY("user_id","digest","resource_id")
);
--> statement-breakpoint
CREATE INDEX "wire_requests_created" ON "wire_requests" USING btree ("created_at");