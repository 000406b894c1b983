import type { AgentHost } from '../agents/threads/agent-port.ts'
import type { Catalogue } from '../agents/config/catalogue.ts'
import type { SystemParts } from '../admin/system-state.ts'
import { closedSignUp, type SignUpSettings } from '../auth/invitations/sign-up-settings.ts'
import { ClientAddresses } from '../auth/logins/client-address.ts'
import { loginCookieName, ServiceCookie } from '../auth/logins/login-cookie.ts'
import { OwnOrigins } from '../auth/logins/own-origin.ts'
import { SpendSums } from '../account/spend-sums.ts'
import type { Limits } from './config.ts'
import type { ConnectorAccess } from '../connectors/connector-access.ts'
import { ConnectorChecks } from '../connectors/connector-checks.ts'
import type { SecretVault } from '../kernel/secret-vault.ts'
import type { SignInParts } from '../connectors/sign-in/connector-sign-in.ts'
import type { Work } from './create-work.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Logger } from '../kernel/logger.ts'
import type { PayloadStore } from '../payloads/payload-store.ts'
import type { SignedLinks } from '../payloads/signed-links.ts'
import { amountsOf } from '../payments/manage-topups.ts'
import type { PaymentPort } from '../payments/payment-port.ts'
import type { PaymentSettings } from '../payments/payment-settings.ts'
import type { MailSender } from '../mails/mail-sender.ts'
import type { Quotes } from '../billing/quotes.ts'
import type { RouterParts } from '../edge/root-router.ts'
import { WriteRate } from '../procedures/write-rate.ts'
import type { Store } from '../store/store.ts'
import type { ServiceTracing } from '../kernel/tracing/service-tracing.ts'

type Settings = {
  limits: Limits
  payments?: PaymentSettings | undefined
  signUp?: SignUpSettings | undefined
  trustedProxies: readonly string[]
  webhookPrivateHosts: readonly string[]
}

type ServiceParts = {
  access: ConnectorAccess
  agents: AgentHost
  baseUrl: () => string
  catalogue: Catalogue
  clock: Clock
  links: SignedLinks
  log: Logger
  mails: MailSender | undefined
  payloads: PayloadStore
  port: PaymentPort | undefined
  quotes: Quotes
  signIns: SignInParts
  store: Store
  system: SystemParts
  tracing: ServiceTracing | undefined
  vault: SecretVault
  work: Work
}

export type Services = RouterParts & { clock: Clock; tracing: ServiceTracing | undefined; writeRate: WriteRate }

export function createServices(settings: Settings, parts: ServiceParts): Services {
  const { limits, trustedProxies, webhookPrivateHosts: privateHosts } = settings
  const { access, agents, baseUrl, catalogue, clock, links, log, payloads, port, quotes, store, system } = parts
  const { mails, signIns, tracing, vault, work } = parts
  const { chats, ends, live, runner, stops } = work
  const { inlineBytes, maxBodyBytes: bodyBytesMax } = limits
  const origins = new OwnOrigins(baseUrl)
  const servers = () => catalogue.connectorServers
  const checksPerMinute = limits.connectorChecksPerMinute
  const checks = new ConnectorChecks({ access, agents, clock, store, checksPerMinute })
  const logins = {
    clients: new ClientAddresses(trustedProxies),
    cookie: new ServiceCookie(loginCookieName, origins),
    origins,
    providers: catalogue.loginProviders,
  }
  const testRate = new WriteRate({ clock, max: 60, per: 'hour', what: 'webhook tests per account' })
  const signUp = { ...(settings.signUp ?? closedSignUp), perDayMax: limits.signUpsPerDay }
  const people = { clock, log, logins, mails, signUp, store }
  const payments = {
    amounts: amountsOf(limits),
    baseUrl,
    clock,
    log,
    origins,
    port,
    returnOrigins: settings.payments?.returnOrigins ?? [],
    store,
  }
  return {
    account: {
      bodyBytesMax,
      catalogue,
      clock,
      payments,
      people,
      spendDays: new SpendSums(store, 86_400_000),
      spendHours: new SpendSums(store, 3_600_000),
      store,
    },
    admin: { catalogue, clock, mails, store, system },
    catalogue,
    chats,
    connectors: { access, checks, clock, origins, servers, signIns, store, vault },
    payments,
    people,
    quotes: { catalogue, chats, quotes, store },
    sessions: { access, catalogue, chats, clock, links, payloads, store },
    tasks: {
      access,
      catalogue,
      clock,
      ends,
      inlineBytes,
      links,
      live,
      payloads,
      quotes,
      runner,
      stops,
      store,
      tracing,
      webhookPrivateHosts: privateHosts,
    },
    webhooks: { clock, dispatcher: work.dispatcher, privateHosts, store, testRate, vault },
    clock,
    store,
    tracing,
    writeRate: new WriteRate({
      clock,
      max: limits.writesPerMinute,
      per: 'minute',
      what: 'changes and quotes per account',
    }),
  }
}
