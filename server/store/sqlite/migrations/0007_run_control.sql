CREATE TABLE `__new_tasks` (
	`seq` integer PRIMARY KEY NOT NULL,
	`id` text NOT NULL,
	`user_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`endpoint_id` text NOT NULL,
	`status` text NOT NULL,
	`queued` integer NOT NULL,
	`attempt` integer NOT NULL,
	`cost` integer NOT NULL,
	`given_back` integer DEFAULT 0 NOT NULL,
	`meters` text,
	`usage` text,
	`tags` text,
	`request` text NOT NULL,
	`request_payload` text,
	`response` text,
	`response_payload` text,
	`error_code` text,
	`error_message` text,
	`error_details` text,
	`connector_ids` text,
	`progress` text,
	`webhook_url` text,
	`quote_id` text,
	`expires_at` integer,
	`timeout_ms` integer,
	`created_at` integer NOT NULL,
	`started_at` integer,
	`completed_at` integer,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "status_known" CHECK("__new_tasks"."status" IN ('pending', 'processing', 'completed', 'failed')),
	CONSTRAINT "cost_not_negative" CHECK("__new_tasks"."cost" >= 0 AND "__new_tasks"."given_back" >= 0),
	CONSTRAINT "given_back_when_completed" CHECK("__new_tasks"."given_back" = 0 OR "__new_tasks"."status" = 'completed'),
	CONSTRAINT "queued_only_open" CHECK("__new_tasks"."queued" = 0 OR "__new_tasks"."status" IN ('pending', 'processing')),
	CONSTRAINT "started_with_processing" CHECK(CASE "__new_tasks"."status" WHEN 'pending' THEN "__new_tasks"."started_at" IS NULL WHEN 'failed' THEN true ELSE "__new_tasks"."started_at" IS NOT NULL END),
	CONSTRAINT "completed_with_end" CHECK(("__new_tasks"."status" IN ('completed', 'failed')) = ("__new_tasks"."completed_at" IS NOT NULL)),
	CONSTRAINT "response_when_completed" CHECK(("__new_tasks"."status" = 'completed') = ("__new_tasks"."response" IS NOT NULL)),
	CONSTRAINT "error_when_failed" CHECK(("__new_tasks"."status" = 'failed') = ("__new_tasks"."error_code" IS NOT NULL)),
	CONSTRAINT "times_in_order" CHECK("__new_tasks"."started_at" >= "__new_tasks"."created_at" AND "__new_tasks"."completed_at" >= coalesce("__new_tasks"."started_at", "__new_tasks"."created_at"))
) STRICT;
--> statement-breakpoint
INSERT INTO `__new_tasks`("seq", "id", "user_id", "agent_id", "endpoint_id", "status", "queued", "attempt", "cost", "request", "request_payload", "response", "response_payload", "error_code", "error_message", "error_details", "connector_ids", "created_at", "started_at", "completed_at") SELECT "seq", "id", "user_id", "agent_id", "endpoint_id", "status", "queued", "attempt", "cost", "request", "request_payload", "response", "response_payload", "error_code", "error_message", "error_details", "connector_ids", "created_at", "started_at", "completed_at" FROM `tasks`;--> statement-breakpoint
DROP TABLE `tasks`;--> statement-breakpoint
ALTER TABLE `__new_tasks` RENAME TO `tasks`;--> statement-breakpoint
CREATE UNIQUE INDEX `tasks_id_unique` ON `tasks` (`id`);--> statement-breakpoint
CREATE INDEX `tasks_user` ON `tasks` (`user_id`,`created_at`);--> statement-breakpoint
CREATE INDEX `tasks_user_status` ON `tasks` (`user_id`,`status`,`created_at`);--> statement-breakpoint
CREATE INDEX `tasks_user_agent_status` ON `tasks` (`user_id`,`agent_id`,`status`,`created_at`);--> statement-breakpoint
CREATE INDEX `tasks_open` ON `tasks` (`queued`) WHERE completed_at IS NULL;--> statement-breakpoint
CREATE INDEX `tasks_expiring` ON `tasks` (`expires_at`) WHERE expires_at IS NOT NULL AND started_at IS NULL AND completed_at IS NULL;--> statement-breakpoint
CREATE UNIQUE INDEX `tasks_quote` ON `tasks` (`quote_id`) WHERE quote_id IS NOT NULL;--> statement-breakpoint
CREATE TABLE `__new_sessions` (
	`id` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`is_completed` integer NOT NULL,
	`metadata` text NOT NULL,
	`message_count` integer NOT NULL,
	`open_turn_id` text,
	`max_cost` integer,
	`spent` integer DEFAULT 0 NOT NULL,
	`tags` text,
	`expiry_noted_at` integer,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`active_at` integer NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "message_count_not_negative" CHECK("__new_sessions"."message_count" >= 0),
	CONSTRAINT "spent_within_cap" CHECK("__new_sessions"."spent" >= 0 AND ("__new_sessions"."max_cost" IS NULL OR "__new_sessions"."spent" <= "__new_sessions"."max_cost"))
) STRICT;
--> statement-breakpoint
INSERT INTO `__new_sessions`("id", "user_id", "agent_id", "is_completed", "metadata", "message_count", "open_turn_id", "created_at", "updated_at", "active_at", "spent") SELECT "id", "user_id", "agent_id", "is_completed", "metadata", "message_count", "open_turn_id", "created_at", "updated_at", "active_at", (SELECT coalesce(-sum(`amount`), 0) FROM `transactions` WHERE `session_id` = `sessions`.`id` AND `session_id` IS NOT NULL) FROM `sessions`;--> statement-breakpoint
DROP TABLE `sessions`;--> statement-breakpoint
ALTER TABLE `__new_sessions` RENAME TO `sessions`;--> statement-breakpoint
CREATE INDEX `sessions_user` ON `sessions` (`user_id`,`created_at`);--> statement-breakpoint
CREATE INDEX `sessions_user_active` ON `sessions` (`user_id`,`is_completed`,`active_at`,`agent_id`);--> statement-breakpoint
CREATE INDEX `sessions_empty` ON `sessions` (`user_id`,`active_at`) WHERE message_count = 0;--> statement-breakpoint
CREATE TABLE `__new_turns` (
	`seq` integer PRIMARY KEY NOT NULL,
	`id` text NOT NULL,
	`user_id` text NOT NULL,
	`session_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`held` integer NOT NULL,
	`cost` integer,
	`max_cost` integer,
	`quote_id` text,
	`outcome` text,
	`created_at` integer NOT NULL,
	`settled_at` integer,
	CONSTRAINT "within_cap" CHECK("__new_turns"."max_cost" IS NULL OR ("__new_turns"."held" <= "__new_turns"."max_cost" AND coalesce("__new_turns"."cost", 0) <= "__new_turns"."max_cost")),
	CONSTRAINT "held_while_open" CHECK("__new_turns"."held" >= 0 AND ("__new_turns"."settled_at" IS NULL OR "__new_turns"."held" = 0)),
	CONSTRAINT "cost_when_settled" CHECK(("__new_turns"."settled_at" IS NULL) = ("__new_turns"."cost" IS NULL)),
	CONSTRAINT "outcome_when_settled" CHECK(("__new_turns"."settled_at" IS NULL) = ("__new_turns"."outcome" IS NULL))
) STRICT;
--> statement-breakpoint
INSERT INTO `__new_turns`("seq", "id", "user_id", "session_id", "agent_id", "held", "cost", "outcome", "created_at", "settled_at") SELECT "seq", "id", "user_id", "session_id", "agent_id", "held", "cost", "outcome", "created_at", "settled_at" FROM `turns`;--> statement-breakpoint
DROP TABLE `turns`;--> statement-breakpoint
ALTER TABLE `__new_turns` RENAME TO `turns`;--> statement-breakpoint
CREATE UNIQUE INDEX `turns_id_unique` ON `turns` (`id`);--> statement-breakpoint
CREATE INDEX `turns_user` ON `turns` (`user_id`,`created_at`);--> statement-breakpoint
CREATE INDEX `turns_open` ON `turns` (`user_id`) WHERE settled_at IS NULL;--> statement-breakpoint
CREATE UNIQUE INDEX `turns_quote` ON `turns` (`quote_id`) WHERE quote_id IS NOT NULL;--> statement-breakpoint
CREATE TRIGGER `tasks_terminal` BEFORE UPDATE ON `tasks` WHEN OLD.status IN ('completed', 'failed') BEGIN SELECT RAISE(ABORT, 'a finished task never changes'); END;--> statement-breakpoint
CREATE TRIGGER `turns_settled` BEFORE UPDATE ON `turns` WHEN OLD.settled_at IS NOT NULL BEGIN SELECT RAISE(ABORT, 'a settled turn never changes'); END;--> statement-breakpoint
CREATE TRIGGER `sessions_made` AFTER INSERT ON `sessions` BEGIN INSERT INTO session_totals (user_id, agent_id, open, completed) VALUES (NEW.user_id, NEW.agent_id, 1 - NEW.is_completed, NEW.is_completed) ON CONFLICT (user_id, agent_id) DO UPDATE SET open = open + excluded.open, completed = completed + excluded.completed; END;--> statement-breakpoint
CREATE TRIGGER `sessions_ended` AFTER UPDATE OF is_completed ON `sessions` WHEN OLD.is_completed <> NEW.is_completed BEGIN UPDATE session_totals SET open = open + OLD.is_completed - NEW.is_completed, completed = completed + NEW.is_completed - OLD.is_completed WHERE user_id = NEW.user_id AND agent_id = NEW.agent_id; END;--> statement-breakpoint
CREATE TRIGGER `sessions_gone` AFTER DELETE ON `sessions` BEGIN UPDATE session_totals SET open = open - 1 + OLD.is_completed, completed = completed - OLD.is_completed WHERE user_id = OLD.user_id AND agent_id = OLD.agent_id; END;