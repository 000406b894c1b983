import { availableParallelism } from 'node:os'

// All environment variables and limits. `config.ts` reads no other variables. The command-line help and
// docs/reference/settings.md are generated from this file. Agents are not set here but in the configuration file.

export type Variable = {
  /** Noun phrase without "the" that describes the variable, such as `port to listen on`. */
  meaning: string
  default?: string
  /** Behavior if the variable is not set and has no default value. */
  otherwise?: string
  values: string
  option?: string
  /** Whether to hide the variable from agents. */
  isSecret?: true
}

/** Thrown if the configuration is invalid. The message names the field. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

export const roles = ['all', 'api', 'worker'] as const
export const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const
export const secretCharsMin = 16

const secret = `at least ${secretCharsMin} characters`
const ofBucket = "the SDK's default: `AWS_` variables, a profile or the role of the machine"

export const variables = {
  ERRAND_DATA_DIR: {
    option: '--data <dir>',
    meaning: 'data directory',
    default: '.errand',
    values: 'a folder, created if missing',
  },
  ERRAND_PORT: {
    option: '--port <port>',
    meaning: 'port to listen on',
    default: '3000',
    values: '0 to 65535; 0 for any free port',
  },
  ERRAND_HOST: {
    option: '--host <host>',
    meaning: 'address to listen on',
    default: '127.0.0.1',
    values: 'an IP address or a host name',
  },
  ERRAND_CONFIG: {
    option: '--config <file>',
    meaning: 'configuration file with the agents',
    default: 'errand.config.ts',
    values: 'a `.ts`, `.js` or `.mjs` file',
  },
  ERRAND_BASE_URL: {
    option: '--base-url <url>',
    meaning: 'URL at which clients reach the service; required unless the host is loopback',
    otherwise: 'the address it listens on',
    values: 'an http or https URL',
  },
  ERRAND_ROLE: {
    option: '--role <role>',
    meaning: 'role of this node when nodes share a database: all, api or worker',
    default: 'all',
    values: roles.join(', '),
  },
  ERRAND_DATABASE_URL: {
    meaning: 'PostgreSQL database, which several nodes can share',
    otherwise: 'SQLite in the data directory',
    values: 'starts with `postgres://`',
    isSecret: true,
  },
  ERRAND_SECRET: {
    meaning:
      "secret that signs links and encrypts users' secrets; required with `ERRAND_DATABASE_URL`, the same on every node",
    otherwise: 'created in the data directory at the first start',
    values: secret,
    isSecret: true,
  },
  ERRAND_SECRET_PREVIOUS: {
    meaning: 'previous secret, while the secret is being changed',
    values: secret,
    isSecret: true,
  },
  ERRAND_LOG_LEVEL: { meaning: 'lowest level to log', default: 'info', values: logLevels.join(', ') },
  ERRAND_METRICS_TOKEN: {
    meaning: 'bearer token required to read `/metrics`',
    otherwise: '`/metrics` is available only from this machine',
    values: secret,
    isSecret: true,
  },
  ERRAND_TRUSTED_PROXIES: {
    meaning: 'proxies whose `X-Forwarded-For` header is trusted',
    values: 'IP addresses or networks, separated by commas',
  },
  ERRAND_CONNECTOR_PRIVATE_HOSTS: {
    meaning: "hosts with private addresses that users' connectors can reach, in addition to `connectors.privateHosts`",
    values: '`host` or `host:port`, separated by commas',
  },
  ERRAND_OIDC_ISSUER: {
    meaning: 'single sign-on provider, in addition to those in `login.providers`; its id is `sso`',
    values: 'an https URL',
  },
  ERRAND_OIDC_CLIENT_ID: {
    meaning: 'client id at the provider; required with `ERRAND_OIDC_ISSUER`',
    values: 'a string',
  },
  ERRAND_OIDC_CLIENT_SECRET: {
    meaning: 'client secret at the provider',
    otherwise: 'a public client, with PKCE',
    values: 'a string',
    isSecret: true,
  },
  ERRAND_OIDC_NAME: {
    meaning: 'name of the provider on the login page',
    otherwise: 'the host of the issuer',
    values: 'a string',
  },
  ERRAND_OIDC_CREATE_ACCOUNTS: {
    meaning: 'whether to create an account at the first login of a person who has none',
    default: 'false',
    values: 'true, false',
  },
  ERRAND_OIDC_EMAIL_DOMAINS: {
    meaning: 'domains whose verified email addresses can log in',
    otherwise: 'all',
    values: 'domains, separated by commas',
  },
  ERRAND_SMTP_URL: {
    meaning: 'mail server that sends email to users; required with `ERRAND_MAIL_FROM`, the same on every node',
    otherwise: 'no email is sent',
    values: '`smtp://` (with STARTTLS) or `smtps://`, user and password, a host and a port',
    isSecret: true,
  },
  ERRAND_MAIL_FROM: {
    meaning: 'sender of emails, with the name of the service; required with `ERRAND_SMTP_URL`',
    values: '`address` or `Name <address>`',
  },
  ERRAND_MAIL_LOGO_URL: {
    meaning: 'logo at the top of emails, shown 40 pixels high',
    otherwise: 'no logo',
    values: 'an https URL',
  },
  ERRAND_SERVICE_NAME: {
    meaning: 'name of the service in the console, the API reference and emails',
    otherwise: 'the name in `ERRAND_MAIL_FROM`, or Errand',
    values: 'at most 60 characters',
  },
  ERRAND_LOGO: {
    meaning: 'logo in the header, on the login page and in the browser tab, instead of the icon and name',
    otherwise: "Errand's icon",
    values: 'an SVG, PNG or WebP file of at most 256 KB',
  },
  ERRAND_LOGO_DARK: {
    meaning: 'logo for the dark color scheme; requires `ERRAND_LOGO`',
    otherwise: '`ERRAND_LOGO`',
    values: 'an SVG, PNG or WebP file of at most 256 KB',
  },
  ERRAND_SUPPORT: {
    meaning: 'where users get help; shown on the login page, in the account menu and in emails',
    otherwise: 'not shown',
    values: 'an email address or an https URL',
  },
  ERRAND_SELLER: {
    meaning: 'name, address and tax id of the seller on receipts and statements',
    otherwise: 'the name of the service, or its host',
    values: 'at most 8 lines, separated by `|`',
  },
  ERRAND_SIGN_UP: {
    meaning: 'whether visitors can create an account with an email address; `email` requires `ERRAND_SMTP_URL`',
    default: 'off',
    values: 'off, email',
  },
  ERRAND_SIGN_UP_DOMAINS: {
    meaning: 'domains whose email addresses can sign up',
    otherwise: 'all',
    values: 'domains, separated by commas',
  },
  ERRAND_SIGN_UP_PLAN: {
    meaning: 'plan of accounts that are created by sign-up or at the first single sign-on',
    otherwise: 'the default plan',
    values: 'the name of a plan',
  },
  ERRAND_SIGN_UP_CREDIT_USD: {
    meaning: 'USD credited to such accounts, once per person',
    default: '0',
    values: 'a USD amount with at most four decimals',
  },
  ERRAND_PAYLOADS_S3_BUCKET: {
    meaning: 'existing bucket for large payloads',
    otherwise: 'payloads are stored next to the database',
    values: '3 to 255 letters, digits, `.`, `_` and `-`',
  },
  ERRAND_PAYLOADS_S3_ENDPOINT: {
    meaning: "URL of an S3-compatible service other than Amazon's",
    otherwise: "Amazon's",
    values: '`http://` or `https://` and a host, without a path',
  },
  ERRAND_PAYLOADS_S3_REGION: {
    meaning: 'region of the bucket',
    otherwise: "the SDK's default; with an endpoint, `us-east-1`",
    values: 'a string',
  },
  ERRAND_PAYLOADS_S3_ACCESS_KEY_ID: {
    meaning: 'access key; required with `ERRAND_PAYLOADS_S3_SECRET_ACCESS_KEY`',
    otherwise: ofBucket,
    values: 'a string',
    isSecret: true,
  },
  ERRAND_PAYLOADS_S3_SECRET_ACCESS_KEY: {
    meaning: 'secret of the access key; required with `ERRAND_PAYLOADS_S3_ACCESS_KEY_ID`',
    otherwise: ofBucket,
    values: 'a string',
    isSecret: true,
  },
  ERRAND_PAYLOADS_S3_PREFIX: {
    meaning: 'prefix of the keys in the bucket',
    values: "names of letters, digits and `-_.!*'()`, with slashes between them",
  },
  ERRAND_PAYLOADS_S3_PATH_STYLE: {
    meaning: 'whether the bucket is in the path instead of the host name',
    otherwise: '`true` with an endpoint, otherwise `false`',
    values: 'true, false',
  },
  ERRAND_STRIPE_SECRET_KEY: {
    meaning: "key of the Stripe account that receives users' payments; required with `ERRAND_STRIPE_WEBHOOK_SECRET`",
    otherwise: 'payments are off and hidden',
    values: 'starts with `sk_test_`, `sk_live_`, `rk_test_` or `rk_live_`',
    isSecret: true,
  },
  ERRAND_STRIPE_WEBHOOK_SECRET: {
    meaning: "signing secret of this service's Stripe webhook endpoint; required with `ERRAND_STRIPE_SECRET_KEY`",
    values: 'starts with `whsec_`',
    isSecret: true,
  },
  ERRAND_STRIPE_API_URL: {
    meaning: "URL of a proxy for Stripe's API",
    otherwise: "Stripe's",
    values: '`http://` or `https://` and a host, without a path',
  },
  ERRAND_PAYMENT_RETURN_ORIGINS: {
    meaning: "origins allowed as return URLs after payment, in addition to the service's own",
    values: 'origins such as `https://app.example.com`, separated by commas',
  },
} satisfies Record<`ERRAND_${string}`, Variable>

/** The service's variables. The process environment may also contain others. */
export type Environment = { readonly [Name in keyof typeof variables]?: string | undefined }

export type Limit = {
  default: number
  defaultText?: string
  meaning: string
  /** Meaning of 0. If absent, the minimum is 1. */
  zero?: string
}

/** If the API contract specifies a value, the default equals it. */
export const limits = {
  executionsPerMinute: {
    default: 10,
    zero: 'no limit',
    meaning: 'maximum number of tasks and turns per user in any 60 seconds',
  },
  writesPerMinute: {
    default: 600,
    zero: 'no limit',
    meaning: 'maximum number of changes and quotes per user per minute, not counting executions',
  },
  signUpsPerDay: {
    default: 1000,
    zero: 'no limit',
    meaning: 'maximum number of requests for a sign-up link per UTC day; above it, further requests get 429',
  },
  abuseFailures: {
    default: 10,
    zero: 'no block',
    meaning: "number of failed tasks within the window that blocks a user's tasks",
  },
  abuseWindowSeconds: { default: 600, meaning: 'window in which failed tasks are counted' },
  abuseBlockSeconds: { default: 600, meaning: 'duration of the first block; each repeat within a day doubles it' },
  abuseBlockMaxSeconds: { default: 3600, meaning: 'maximum duration of a block' },
  maxWrittenOffUsdPerDay: {
    default: 1,
    zero: 'no bound',
    meaning: "USD written off for a user's turns per UTC day; above it, further turns of that day get 403",
  },
  payloadBytesPerDay: {
    default: 1_073_741_824,
    zero: 'no limit',
    meaning:
      'maximum number of bytes stored per user and UTC day for large requests, large results and files; above it, tasks and messages with files get 403',
  },
  connectorBlockSeconds: {
    default: 86_400,
    zero: 'no block',
    meaning: "how long a user's tasks with connectors are blocked after a task that had called a connector failed",
  },
  connectorTasksAtWork: {
    default: 1,
    zero: 'no bound',
    meaning:
      'maximum number of running tasks with connectors per user; also how many free results a user can get per block by making runs fail after a connector call',
  },
  sessionIdleSeconds: { default: 86_400, meaning: 'time without a turn or an update after which a session expires' },
  leaseSeconds: {
    default: 15,
    meaning: 'if nodes share a database: how long an unresponsive node keeps its tasks and turns',
  },
  inlineBytes: {
    default: 16_384,
    meaning: 'maximum JSON size of a request or result stored inline; larger ones are stored separately',
  },
  maxBodyBytes: { default: 10_485_760, meaning: 'maximum size of a request body' },
  maxFileBytes: { default: 5_242_880, meaning: 'maximum size of a file in a message' },
  maxMessageFileBytes: {
    default: 20_971_520,
    meaning:
      'maximum total size of the files of a message; also of the files of earlier messages that are sent to the agent again',
  },
  maxResultBytes: { default: 52_428_800, meaning: 'maximum size of a result as JSON' },
  maxReplyBytes: { default: 4_194_304, meaning: 'maximum size of a reply: text, tool arguments and tool outputs' },
  maxOpenReplyBytes: {
    default: 268_435_456,
    meaning: 'maximum memory for all unsaved replies in progress on a node; above it, a reply is cut off',
  },
  signedUrlSeconds: { default: 3600, meaning: 'how long a payload link is valid' },
  taskConcurrency: {
    default: 64,
    zero: 'tasks are accepted but not run',
    meaning: 'maximum number of tasks running at a time on a node',
  },
  drainSeconds: {
    default: 300,
    zero: 'running work is interrupted immediately',
    meaning: 'how long a shutdown waits for running work',
  },
  turnTimeoutSeconds: { default: 300, meaning: 'maximum time for a turn' },
  writeStallSeconds: {
    default: 30,
    meaning: 'how long a client can stop reading its response before the connection is closed',
  },
  mcpReturnSeconds: {
    default: 60,
    meaning: 'how long the task of a disconnected MCP client waits for the same call before it is canceled',
  },
  maxConnections: { default: 20_000, meaning: 'maximum number of open connections' },
  maxWritesInFlight: {
    default: 500,
    meaning: 'maximum number of concurrent write requests; fewer while the event loop is delayed',
  },
  maxReadsInFlight: {
    default: 1000,
    meaning: 'maximum number of concurrent read requests; fewer while the event loop is delayed',
  },
  maxLoopDelayMs: { default: 100, meaning: 'event-loop delay above which fewer requests are admitted' },
  maxQueuedTasks: {
    default: 100_000,
    zero: 'no bound',
    meaning: 'maximum number of queued tasks across all users; above it, new tasks get 503',
  },
  agentThreads: {
    default: availableParallelism(),
    defaultText: 'one per core',
    meaning: 'number of threads that run agents',
  },
  agentThreadMemoryMb: { default: 512, meaning: 'maximum heap of an agent thread' },
  connectorChecksPerMinute: {
    default: 30,
    zero: 'no limit',
    meaning: 'maximum number of connector checks, tool lists and tool calls per user per minute on a node',
  },
  maxConnectorProcesses: {
    default: 64,
    meaning: 'maximum number of `connectors.servers` processes at a time for all users',
  },
  topupMinUsd: { default: 5, meaning: 'minimum USD per payment' },
  topupMaxUsd: { default: 1000, meaning: 'maximum USD per payment' },
  rechargeMonthlyMaxUsd: {
    default: 1000,
    zero: 'auto-recharge is off',
    meaning: 'maximum USD that auto-recharge charges an account per UTC month',
  },
  maxConnectorProcessesPerUser: {
    default: 20,
    meaning:
      'maximum number of `connectors.servers` processes at a time for one user; an eighth of `maxConnectorProcesses` while half of those are running',
  },
} satisfies Record<string, Limit>

export type LimitName = keyof typeof limits

export function limitVariable(name: LimitName): string {
  return `ERRAND_${name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`
}
