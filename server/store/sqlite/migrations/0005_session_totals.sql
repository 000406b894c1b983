CREATE TABLE `session_totals` (
	`user_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`open` integer NOT NULL,
	`completed` integer NOT NULL,
	PRIMARY KEY(`user_id`, `agent_id`),
	CONSTRAINT "sessions_not_negative" CHECK("session_totals"."open" >= 0 AND "session_totals"."completed" >= 0)
) STRICT;
--> statement-breakpoint
CREATE INDEX `sessions_empty` ON `sessions` (`user_id`,`active_at`) WHERE message_count = 0;--> statement-breakpoint
INSERT INTO `session_totals` SELECT `user_id`, `agent_id`, sum(1 - `is_completed`), sum(`is_completed`) FROM `sessions` GROUP BY 1, 2;--> statement-breakpoint
CREATE TRIGGER `sessions_made` AFTER INSERT ON `sessions` BEGIN INSERT INTO session_totals (user_id, agent_id, open, completed) VALUES (NEW.user_id, NEW.agent_id, 1 - NEW.is_completed, NEW.is_completed) ON CONFLICT (user_id, agent_id) DO UPDATE SET open = open + excluded.open, completed = completed + excluded.completed; END;--> statement-breakpoint
CREATE TRIGGER `sessions_ended` AFTER UPDATE OF is_completed ON `sessions` WHEN OLD.is_completed <> NEW.is_completed BEGIN UPDATE session_totals SET open = open + OLD.is_completed - NEW.is_completed, completed = completed + NEW.is_completed - OLD.is_completed WHERE user_id = NEW.user_id AND agent_id = NEW.agent_id; END;--> statement-breakpoint
CREATE TRIGGER `sessions_gone` AFTER DELETE ON `sessions` BEGIN UPDATE session_totals SET open = open - 1 + OLD.is_completed, completed = completed - OLD.is_completed WHERE user_id = OLD.user_id AND agent_id = OLD.agent_id; END;