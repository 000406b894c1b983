import type { AnyProcedure } from '@trpc/server'
import { systemRouter } from '../admin/system-router.ts'
import { usersRouter } from '../admin/users-router.ts'
import { agentsRouter } from '../agents/agents-router.ts'
import { clientTokensRouter } from '../auth/client-tokens/client-tokens-router.ts'
import { invitationsRouter } from '../auth/invitations/invitations-router.ts'
import { keysRouter } from '../auth/keys/keys-router.ts'
import { loginRouter } from '../auth/logins/login-router.ts'
import { loginsRouter } from '../auth/logins/login-list-router.ts'
import { platformKeysRouter } from '../auth/platform/platform-keys-router.ts'
import { accountRouter } from '../billing/account-router.ts'
import { transactionsRouter } from '../billing/transactions-router.ts'
import { chatRouter } from '../chat/chat-router.ts'
import { connectorsRouter } from '../connectors/connectors-router.ts'
import { topupsRouter } from '../payments/topups-router.ts'
import { quotesRouter } from '../quotes/quotes-router.ts'
import { sessionsRouter } from '../sessions/sessions-router.ts'
import { tasksRouter } from '../tasks/tasks-router.ts'
import { webhooksRouter } from '../webhooks/webhooks-router.ts'
import { router } from './trpc.ts'

export const rootRouter = router({
  tasks: tasksRouter,
  sessions: sessionsRouter,
  chat: chatRouter,
  quotes: quotesRouter,
  agents: agentsRouter,
  connectors: connectorsRouter,
  webhooks: webhooksRouter,
  account: accountRouter,
  transactions: transactionsRouter,
  topups: topupsRouter,
  keys: keysRouter,
  clientTokens: clientTokensRouter,
  login: loginRouter,
  logins: loginsRouter,
  invitations: invitationsRouter,
  users: usersRouter,
  platformKeys: platformKeysRouter,
  system: systemRouter,
})

/** Procedures by name, such as `tasks.create`. */
export const allProcedures = rootRouter._def.procedures as unknown as Record<string, AnyProcedure>

/** Type that the typed client is built on. */
export type AppRouter = typeof rootRouter
