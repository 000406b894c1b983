import type { AnyProcedure } from '@trpc/server'
import type { AdminParts } from '../admin/system-state.ts'
import type { Catalogue } from '../agents/config/catalogue.ts'
import type { LoginAccess } from '../auth/logins/log-in.ts'
import type { ChatTurns } from '../chat/chat-turns.ts'
import type { ConnectorParts } from '../connectors/manage-connectors.ts'
import type { PaymentParts } from '../payments/manage-topups.ts'
import type { QuoteParts } from '../quotes/create-quote.ts'
import type { SessionParts } from '../chat/sessions/session-operations.ts'
import type { Store } from '../store/store.ts'
import type { CancelTaskParts } from '../tasks/cancel-task.ts'
import type { CreateTaskParts } from '../tasks/create-task.ts'
import type { WebhookParts } from '../webhooks/manage-webhooks.ts'
import { auditRouter } from '../admin/audit-router.ts'
import { economicsRouter } from '../admin/economics-router.ts'
import { mailRouter } from '../admin/mail-router.ts'
import { systemRouter } from '../admin/system-router.ts'
import { usersRouter } from '../admin/users-router.ts'
import { agentsRouter } from '../agents/agents-router.ts'
import { clientTokensRouter } from '../auth/client-tokens/client-tokens-router.ts'
import { invitationsRouter } from '../auth/invitations/invitations-router.ts'
import { keysRouter } from '../auth/keys/keys-router.ts'
import { loginRouter } from '../auth/logins/login-router.ts'
import { loginsRouter } from '../auth/logins/login-list-router.ts'
import { platformKeysRouter } from '../auth/platform/platform-keys-router.ts'
import { accountRouter, type AccountParts } from '../account/account-router.ts'
import { transactionsRouter } from '../account/transactions-router.ts'
import { chatRouter } from '../chat/chat-router.ts'
import { connectorsRouter } from '../connectors/connectors-router.ts'
import { topupsRouter } from '../payments/topups-router.ts'
import { quotesRouter } from '../quotes/quotes-router.ts'
import { sessionsRouter } from '../chat/sessions/sessions-router.ts'
import { tasksRouter } from '../tasks/tasks-router.ts'
import { webhooksRouter } from '../webhooks/webhooks-router.ts'
import { router } from '../procedures/procedure.ts'

export type RouterParts = {
  account: AccountParts
  admin: AdminParts
  catalogue: Catalogue
  chats: ChatTurns
  connectors: ConnectorParts
  payments: PaymentParts
  people: LoginAccess
  quotes: QuoteParts
  sessions: SessionParts
  store: Store
  tasks: CreateTaskParts & CancelTaskParts
  webhooks: WebhookParts
}

/** Defines every operation. All protocols and documents are derived from this router. */
export function createRootRouter(parts: RouterParts) {
  return router({
    tasks: tasksRouter(parts.tasks),
    sessions: sessionsRouter(parts.sessions),
    chat: chatRouter(parts.chats),
    quotes: quotesRouter(parts.quotes),
    agents: agentsRouter(parts.catalogue),
    connectors: connectorsRouter(parts.connectors),
    webhooks: webhooksRouter(parts.webhooks),
    account: accountRouter(parts.account),
    transactions: transactionsRouter(parts.store),
    topups: topupsRouter(parts.payments),
    keys: keysRouter(parts),
    clientTokens: clientTokensRouter(parts),
    login: loginRouter(parts.people),
    logins: loginsRouter(parts.people),
    invitations: invitationsRouter(parts.people),
    users: usersRouter(parts),
    platformKeys: platformKeysRouter(parts.people),
    system: systemRouter(parts.admin),
    audit: auditRouter(parts.admin),
    mail: mailRouter(parts.admin),
    economics: economicsRouter(parts.admin),
  })
}

export type AppRouter = ReturnType<typeof createRootRouter>

/** Router without dependencies, used only to describe the operations. */
export const describedRouter = createRootRouter({} as RouterParts)

export function proceduresOf(router: AppRouter): Readonly<Record<string, AnyProcedure>> {
  return router._def.procedures as unknown as Record<string, AnyProcedure>
}
