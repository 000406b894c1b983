CREATE TABLE "session_totals" (
	"user_id" text NOT NULL,
	"agent_id" text NOT NULL,
	"open" bigint NOT NULL,
	"completed" bigint NOT NULL,
	CONSTRAINT "session_totals_user_id_agent_id_pk" PRIMARY KEY("user_id","agent_id"),
	CONSTRAINT "sessions_not_negative" CHECK ("session_totals"."open" >= 0 AND "session_totals"."completed" >= 0)
);
--> statement-breakpoint
CREATE INDEX "sessions_empty" ON "sessions" USING btree ("user_id","active_at") WHERE message_count = 0;--> statement-breakpoint
INSERT INTO "session_totals" SELECT "user_id", "agent_id", sum(1 - "is_completed"), sum("is_completed") FROM "sessions" GROUP BY 1, 2;--> statement-breakpoint
CREATE FUNCTION "count_session"() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$ BEGIN
IF TG_OP <> 'INSERT' THEN
  UPDATE "session_totals" SET "open" = "open" - 1 + OLD."is_completed", "completed" = "completed" - OLD."is_completed" WHERE "user_id" = OLD."user_id" AND "agent_id" = OLD."agent_id";
END IF;
IF TG_OP <> 'DELETE' THEN
  INSERT INTO "session_totals" ("user_id", "agent_id", "open", "completed") VALUES (NEW."user_id", NEW."agent_id", 1 - NEW."is_completed", NEW."is_completed")
  ON CONFLICT ("user_id", "agent_id") DO UPDATE SET "open" = "session_totals"."open" + excluded."open", "completed" = "session_totals"."completed" + excluded."completed";
END IF;
RETURN NULL; END $$;--> statement-breakpoint
CREATE TRIGGER "sessions_counted" AFTER INSERT OR DELETE ON "sessions" FOR EACH ROW EXECUTE FUNCTION "count_session"();--> statement-breakpoint
CREATE TRIGGER "sessions_ended" AFTER UPDATE OF "is_completed" ON "sessions" FOR EACH ROW WHEN (OLD."is_completed" <> NEW."is_completed") EXECUTE FUNCTION "count_session"();