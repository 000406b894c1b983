import { agentsRouter } from '../agents/agents-router.ts'
import { keysRouter } from '../auth/keys-router.ts'
import { accountRouter } from '../billing/account-router.ts'
import { transactionsRouter } from '../billing/transactions-router.ts'
import { chatRouter } from '../chat/chat-router.ts'
import { connectorsRouter } from '../connectors/connectors-router.ts'
import { sessionsRouter } from '../sessions/sessions-router.ts'
import { tasksRouter } from '../tasks/tasks-router.ts'
import { router } from './trpc.ts'

export const rootRouter = router({
  tasks: tasksRouter,
  sessions: sessionsRouter,
  chat: chatRouter,
  agents: agentsRouter,
  connectors: connectorsRouter,
  account: accountRouter,
  transactions: transactionsRouter,
  keys: keysRouter,
})

/** The type that the typed client is built on. */
export type AppRouter = typeof rootRouter
