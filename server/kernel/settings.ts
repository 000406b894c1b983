import { availableParallelism } from 'node:os'

// Every setting of the service except the configuration file's agents. `config.ts` reads no others, the command line
// takes its help from here, and docs/reference/settings.md is generated from it.

export type Variable = {
  /** Noun phrase for the variable's value; completes "the …". */
  meaning: string
  /** Value when unset. */
  default?: string
  /** Behavior when unset, for a variable without a default value. */
  otherwise?: string
  /** Allowed values. */
  values: string
  /** Option of `serve` that overrides it. */
  option?: string
  /** Hidden from agents. */
  isSecret?: true
}

/** Roles of a node: take requests, run tasks, or both. */
export const roles = ['all', 'api', 'worker'] as const
export const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const
export const secretCharsMin = 16

const secret = `at least ${secretCharsMin} characters`
const ofBucket = 'the SDK looks for `AWS_` variables, a profile and the role of the machine'

export const variables = {
  ERRAND_DATA_DIR: {
    option: '--data <dir>',
    meaning: 'data directory',
    default: '.errand',
    values: 'a folder, made when it is missing',
  },
  ERRAND_PORT: {
    option: '--port <port>',
    meaning: 'port to listen on',
    default: '3000',
    values: '0 to 65535; 0 for any',
  },
  ERRAND_HOST: {
    option: '--host <host>',
    meaning: 'address to listen on',
    default: '127.0.0.1',
    values: 'an address or a host name',
  },
  ERRAND_CONFIG: {
    option: '--config <file>',
    meaning: 'configuration with the agents',
    default: 'errand.config.ts',
    values: 'a `.ts`, `.js` or `.mjs` file',
  },
  ERRAND_BASE_URL: {
    option: '--base-url <url>',
    meaning: 'where clients reach the service; required unless the host is loopback',
    otherwise: 'the address it listens on',
    values: 'an http or https URL',
  },
  ERRAND_ROLE: {
    option: '--role <role>',
    meaning: 'what this node of a shared database does: all, api or worker',
    default: 'all',
    values: roles.join(', '),
  },
  ERRAND_DATABASE_URL: {
    meaning: 'PostgreSQL database, which several nodes can share',
    otherwise: 'SQLite in the data directory',
    values: 'begins with `postgres://`',
    isSecret: true,
  },
  ERRAND_SECRET: {
    meaning:
      "what links are signed and users' secrets encrypted with; required with `ERRAND_DATABASE_URL`, the same on every node",
    otherwise: 'made at the first start, in the data directory',
    values: secret,
    isSecret: true,
  },
  ERRAND_SECRET_PREVIOUS: {
    meaning: 'the secret before, while it is being changed',
    values: secret,
    isSecret: true,
  },
  ERRAND_LOG_LEVEL: { meaning: 'least level that is logged', default: 'info', values: logLevels.join(', ') },
  ERRAND_METRICS_TOKEN: {
    meaning: 'bearer token that readers of `/metrics` send',
    otherwise: '`/metrics` is for this machine only',
    values: secret,
    isSecret: true,
  },
  ERRAND_TRUSTED_PROXIES: {
    meaning: 'proxies whose `X-Forwarded-For` is believed',
    values: 'IP addresses or networks, separated by commas',
  },
  ERRAND_CONNECTOR_PRIVATE_HOSTS: {
    meaning:
      "hosts that users' connectors may reach though their addresses are private, besides `connectors.privateHosts`",
    values: '`host` or `host:port`, separated by commas',
  },
  ERRAND_OIDC_ISSUER: {
    meaning: 'provider of single sign-on, besides those of `login.providers`; its id is `sso`',
    values: 'an https URL',
  },
  ERRAND_OIDC_CLIENT_ID: { meaning: 'client id at the provider; required with `ERRAND_OIDC_ISSUER`', values: 'a text' },
  ERRAND_OIDC_CLIENT_SECRET: {
    meaning: 'client secret at the provider',
    otherwise: 'a public client, with PKCE',
    values: 'a text',
    isSecret: true,
  },
  ERRAND_OIDC_NAME: {
    meaning: 'name of the provider on the login page',
    otherwise: 'the host of the issuer',
    values: 'a text',
  },
  ERRAND_OIDC_CREATE_ACCOUNTS: {
    meaning: 'whether somebody without an account gets one at the first login',
    default: 'false',
    values: 'true, false',
  },
  ERRAND_OIDC_EMAIL_DOMAINS: {
    meaning: 'domains whose verified addresses may log in',
    otherwise: 'all',
    values: 'domains, separated by commas',
  },
  ERRAND_PAYLOADS_S3_BUCKET: {
    meaning: 'bucket of large payloads, which must exist',
    otherwise: 'payloads are kept beside the database',
    values: '3 to 255 letters, digits, `.`, `_` and `-`',
  },
  ERRAND_PAYLOADS_S3_ENDPOINT: {
    meaning: "address of another service than Amazon's",
    otherwise: "Amazon's",
    values: '`http://` or `https://`, a host, and nothing after it',
  },
  ERRAND_PAYLOADS_S3_REGION: {
    meaning: 'region of the bucket',
    otherwise: 'as the SDK finds it; with an endpoint `us-east-1`',
    values: 'a text',
  },
  ERRAND_PAYLOADS_S3_ACCESS_KEY_ID: {
    meaning: 'access key; required with `ERRAND_PAYLOADS_S3_SECRET_ACCESS_KEY`',
    otherwise: ofBucket,
    values: 'a text',
    isSecret: true,
  },
  ERRAND_PAYLOADS_S3_SECRET_ACCESS_KEY: {
    meaning: 'secret of the access key; required with `ERRAND_PAYLOADS_S3_ACCESS_KEY_ID`',
    otherwise: ofBucket,
    values: 'a text',
    isSecret: true,
  },
  ERRAND_PAYLOADS_S3_PREFIX: {
    meaning: 'what keys in the bucket begin with',
    values: "names of letters, digits and `-_.!*'()`, with slashes between them",
  },
  ERRAND_PAYLOADS_S3_PATH_STYLE: {
    meaning: 'whether the bucket stands in the path, and not in the host name',
    otherwise: '`true` with an endpoint, else `false`',
    values: 'true, false',
  },
  ERRAND_STRIPE_SECRET_KEY: {
    meaning: 'key of the Stripe account that users pay to; required with `ERRAND_STRIPE_WEBHOOK_SECRET`',
    otherwise: 'nobody can pay, and nothing of it is shown',
    values: 'begins with `sk_test_`, `sk_live_`, `rk_test_` or `rk_live_`',
    isSecret: true,
  },
  ERRAND_STRIPE_WEBHOOK_SECRET: {
    meaning: "what Stripe signs the events of this service's endpoint with; required with `ERRAND_STRIPE_SECRET_KEY`",
    values: 'begins with `whsec_`',
    isSecret: true,
  },
  ERRAND_STRIPE_API_URL: {
    meaning: "address of a proxy of Stripe's API",
    otherwise: "Stripe's",
    values: '`http://` or `https://`, a host, and nothing after it',
  },
  ERRAND_PAYMENT_RETURN_ORIGINS: {
    meaning: "origins that people who pay may be sent back to, besides the service's own",
    values: 'as `https://app.example.com`, separated by commas',
  },
} satisfies Record<`ERRAND_${string}`, Variable>

/** Variables that are read from the process's environment, which may contain any others. */
export type Environment = { readonly [Name in keyof typeof variables]?: string | undefined }

export type Limit = {
  default: number
  /** Text for a default that depends on the machine. */
  defaultText?: string
  meaning: string
  /** Meaning of 0; without it the minimum is 1. */
  zero?: string
}

/** Defaults are the contract's values if it names them. */
export const limits = {
  executionsPerMinute: { default: 10, zero: 'no limit', meaning: 'tasks and chats of a user in any 60 seconds' },
  writesPerMinute: { default: 600, zero: 'no limit', meaning: 'changes and quotes of a user, without executions' },
  abuseFailures: { default: 10, zero: 'no block', meaning: "failed tasks within the window that block a user's tasks" },
  abuseWindowSeconds: { default: 600, meaning: 'the window that failed tasks are counted over' },
  abuseBlockSeconds: { default: 600, meaning: 'the first block; each repeat within a day doubles it' },
  abuseBlockMaxSeconds: { default: 3600, meaning: 'the longest block that doubling leads to' },
  maxWrittenOffUsdPerDay: {
    default: 1,
    zero: 'no bound',
    meaning: "USD written off of a user's chats on a day of UTC, beyond which further chats of the day get 403",
  },
  payloadBytesPerDay: {
    default: 1_073_741_824,
    zero: 'no limit',
    meaning:
      'bytes of large requests, large results and files that are stored for a user on a day of UTC; then tasks and messages with files get 403',
  },
  connectorBlockSeconds: {
    default: 86_400,
    zero: 'no block',
    meaning: "how long a user's tasks with connectors are blocked after one that had called a connector failed",
  },
  connectorTasksAtWork: {
    default: 1,
    zero: 'no bound',
    meaning:
      'tasks with connectors of a user that run at a time; also how many answers a user can get for nothing in each block, by letting runs fail after they have called a connector',
  },
  sessionIdleSeconds: { default: 86_400, meaning: 'how long without a chat or an update until a session is expired' },
  leaseSeconds: {
    default: 15,
    meaning: 'where nodes share a database: how long a silent node keeps the tasks and chats that it took',
  },
  inlineBytes: { default: 16_384, meaning: 'JSON of a request or result; a larger one is stored apart' },
  maxBodyBytes: { default: 10_485_760, meaning: 'body of a request' },
  maxFileBytes: { default: 5_242_880, meaning: 'a file of a message' },
  maxMessageFileBytes: {
    default: 20_971_520,
    meaning: 'the files of a message together; and those of messages before it that an agent is given again',
  },
  maxResultBytes: { default: 52_428_800, meaning: 'JSON of a result' },
  maxReplyBytes: { default: 4_194_304, meaning: 'text, tool arguments and tool outputs of a reply' },
  maxOpenReplyBytes: {
    default: 268_435_456,
    meaning:
      'what all replies in progress on a node keep in memory until they are stored; beyond it a reply is cut off',
  },
  signedUrlSeconds: { default: 3600, meaning: 'how long a link to a payload is valid' },
  taskConcurrency: {
    default: 64,
    zero: 'tasks are accepted, and none is run',
    meaning: 'tasks that a node runs at a time',
  },
  drainSeconds: {
    default: 300,
    zero: 'what runs is interrupted at once',
    meaning: 'how long a stop waits for what runs',
  },
  turnTimeoutSeconds: { default: 300, meaning: "how long a chat's reply may take" },
  writeStallSeconds: { default: 30, meaning: 'how long a client may take nothing of its answer until it is cut off' },
  mcpReturnSeconds: {
    default: 60,
    meaning: 'how long the task of an MCP client that left waits for the same call, before it is canceled',
  },
  maxConnections: { default: 20_000, meaning: 'open connections' },
  maxWritesInFlight: { default: 500, meaning: 'writing requests at a time; fewer while the event loop is late' },
  maxReadsInFlight: { default: 1000, meaning: 'reading requests at a time; fewer while the event loop is late' },
  maxLoopDelayMs: { default: 100, meaning: 'delay of the event loop beyond which fewer requests are let in' },
  maxQueuedTasks: {
    default: 100_000,
    zero: 'no bound',
    meaning: 'waiting tasks of all users beyond which new ones get 503',
  },
  agentThreads: {
    default: availableParallelism(),
    defaultText: 'one per core',
    meaning: 'threads that agents run in',
  },
  agentThreadMemoryMb: { default: 512, meaning: 'heap of an agent thread' },
  connectorChecksPerMinute: {
    default: 30,
    zero: 'no limit',
    meaning: "checks of one user's connectors, and lists of their tools, on a node",
  },
  maxConnectorProcesses: { default: 64, meaning: 'processes of `connectors.servers` at a time, for all users' },
  topupMinUsd: { default: 5, meaning: 'USD that are paid at a time, at least' },
  topupMaxUsd: { default: 1000, meaning: 'USD that are paid at a time, at most' },
  rechargeMonthlyMaxUsd: {
    default: 1000,
    zero: 'auto-recharge is off',
    meaning: 'USD that auto-recharge charges one account in a UTC month, at most',
  },
  maxConnectorProcessesPerUser: {
    default: 20,
    meaning:
      'processes of `connectors.servers` at a time, for one user; an eighth of `maxConnectorProcesses` while half of those run',
  },
} satisfies Record<string, Limit>

export type LimitName = keyof typeof limits

/** Variable that overrides a limit of the configuration file. */
export function limitVariable(name: LimitName): string {
  return `ERRAND_${name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`
}
