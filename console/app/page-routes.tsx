import type { ComponentType, LazyExoticComponent } from 'react'
import { adminPart, lazyPart } from './load-part.ts'

export type Section = 'settings' | 'admin'
type PageRoute = { path: string; Page: LazyExoticComponent<ComponentType>; section?: Section }

export const pageRoutes: readonly PageRoute[] = [
  { path: '/', Page: lazyPart(async () => (await import('../pages/overview/overview-page.tsx')).OverviewPage) },
  { path: '/agents', Page: lazyPart(async () => (await import('../pages/agents/agents-page.tsx')).AgentsPage) },
  { path: '/agents/:agentId', Page: lazyPart(async () => (await import('../pages/agents/agent-page.tsx')).AgentPage) },
  { path: '/tasks', Page: lazyPart(async () => (await import('../pages/tasks/tasks-page.tsx')).TasksPage) },
  { path: '/tasks/:taskId', Page: lazyPart(async () => (await import('../pages/tasks/task-page.tsx')).TaskPage) },
  { path: '/chat/:sessionId?', Page: lazyPart(async () => (await import('../pages/chat/chat-page.tsx')).ChatPage) },
  { path: '/usage', Page: lazyPart(async () => (await import('../pages/usage/usage-page.tsx')).UsagePage) },
  { path: '/billing', Page: lazyPart(async () => (await import('../pages/billing/billing-page.tsx')).BillingPage) },
  {
    path: '/billing/receipt',
    Page: lazyPart(async () => (await import('../pages/billing/receipt-page.tsx')).ReceiptPage),
  },
  {
    path: '/billing/statement',
    Page: lazyPart(async () => (await import('../pages/billing/statement/statement-page.tsx')).StatementPage),
  },
  {
    path: '/settings/keys',
    section: 'settings',
    Page: lazyPart(async () => (await import('../pages/settings/keys/keys-page.tsx')).KeysPage),
  },
  {
    path: '/settings/keys/:keyId',
    section: 'settings',
    Page: lazyPart(async () => (await import('../pages/settings/keys/key-page.tsx')).KeyPage),
  },
  {
    path: '/settings/connectors',
    section: 'settings',
    Page: lazyPart(async () => (await import('../pages/settings/connectors/connectors-page.tsx')).ConnectorsPage),
  },
  {
    path: '/settings/webhooks',
    section: 'settings',
    Page: lazyPart(async () => (await import('../pages/settings/webhooks/webhooks-page.tsx')).WebhooksPage),
  },
  {
    path: '/settings/webhooks/:webhookId',
    section: 'settings',
    Page: lazyPart(async () => (await import('../pages/settings/webhooks/webhook-page.tsx')).WebhookPage),
  },
  {
    path: '/settings/password',
    section: 'settings',
    Page: lazyPart(async () => (await import('../pages/settings/password-page.tsx')).PasswordPage),
  },
  {
    path: '/settings/logins',
    section: 'settings',
    Page: lazyPart(async () => (await import('../pages/settings/logins-page.tsx')).LoginsPage),
  },
  {
    path: '/admin/overview',
    section: 'admin',
    Page: adminPart(async () => (await import('../pages/admin/overview/admin-overview-page.tsx')).AdminOverviewPage),
  },
  {
    path: '/admin/users',
    section: 'admin',
    Page: adminPart(async () => (await import('../pages/admin/users/users-page.tsx')).UsersPage),
  },
  {
    path: '/admin/users/:userId',
    section: 'admin',
    Page: adminPart(async () => (await import('../pages/admin/users/user-page.tsx')).UserPage),
  },
  {
    path: '/admin/users/:userId/tasks/:taskId',
    section: 'admin',
    Page: adminPart(async () => (await import('../pages/admin/users/user-task-page.tsx')).UserTaskPage),
  },
  {
    path: '/admin/plans',
    section: 'admin',
    Page: adminPart(async () => (await import('../pages/admin/plans/plans-page.tsx')).PlansPage),
  },
  {
    path: '/admin/economics',
    section: 'admin',
    Page: adminPart(async () => (await import('../pages/admin/economics/economics-page.tsx')).EconomicsPage),
  },
  {
    path: '/admin/audit',
    section: 'admin',
    Page: adminPart(async () => (await import('../pages/admin/audit/audit-page.tsx')).AuditPage),
  },
  {
    path: '/admin/payments',
    section: 'admin',
    Page: adminPart(async () => (await import('../pages/admin/payments/payments-page.tsx')).PaymentsPage),
  },
  {
    path: '/admin/invitations',
    section: 'admin',
    Page: adminPart(async () => (await import('../pages/admin/invitations/invitations-page.tsx')).InvitationsPage),
  },
  {
    path: '/admin/platform-keys',
    section: 'admin',
    Page: adminPart(async () => (await import('../pages/admin/platform/platform-keys-page.tsx')).PlatformKeysPage),
  },
  {
    path: '/admin/platform-keys/:keyId',
    section: 'admin',
    Page: adminPart(async () => (await import('../pages/admin/platform/platform-key-page.tsx')).PlatformKeyPage),
  },
  {
    path: '/admin/agents',
    section: 'admin',
    Page: adminPart(async () => (await import('../pages/admin/agents-admin-page.tsx')).AgentsAdminPage),
  },
  {
    path: '/admin/mail',
    section: 'admin',
    Page: adminPart(async () => (await import('../pages/admin/mail/mail-page.tsx')).MailPage),
  },
  {
    path: '/admin/system',
    section: 'admin',
    Page: adminPart(async () => (await import('../pages/admin/system/system-page.tsx')).SystemPage),
  },
]
