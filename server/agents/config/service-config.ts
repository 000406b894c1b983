import type { LimitName } from '../../kernel/settings.ts'

// All configuration fields except `agents`. docs/reference/settings.md is generated from these comments.

/** Service-wide limits. docs/reference/settings.md documents each limit and its default. */
export type LimitsConfig = { readonly [Name in LimitName]?: number }

/** An MCP server that the operator offers to users. The service starts a process for each use, without a shell. */
export type StdioServerConfig = {
  /** Name shown to users. */
  readonly name: string
  /** Description shown to users. */
  readonly description?: string
  /** Path of an executable, or a name to look up in PATH. */
  readonly command: string
  /** Command-line arguments. */
  readonly args?: readonly string[]
  /** Environment variables for the server, which inherits only PATH from the service. */
  readonly env?: { readonly [name: string]: string }
  /** Working directory of the process. */
  readonly cwd?: string
  /** Environment variable that receives the user's token. If omitted, users need no token. */
  readonly tokenEnv?: string
}

/** MCP servers that users may connect to. */
export type ConnectorsConfig = {
  /** MCP servers on this machine, by id. */
  readonly servers?: { readonly [id: string]: StdioServerConfig }
  /**
   * Hosts with private IP addresses that users' connectors may reach, as `host` or `host:port`. Plain http is allowed
   * for them. All other hosts must have public addresses and use https.
   */
  readonly privateHosts?: readonly string[]
}

export type WebhooksConfig = {
  /**
   * Hosts with private IP addresses that webhooks may reach, as `host` or `host:port`. Plain http is allowed for them.
   * All other hosts must have public addresses and use https.
   */
  readonly privateHosts?: readonly string[]
}

/** An OpenID Connect provider for logging in to the console. */
export type LoginProviderConfig = {
  /** Id in the URLs `/login/oidc/ID` and `/login/oidc/ID/callback`. Register the latter as the redirect URI. */
  readonly id: string
  /** Name on the login button. */
  readonly name: string
  /** Issuer URL. The discovery document must be at `ISSUER/.well-known/openid-configuration`. */
  readonly issuer: string
  /** Client id that the provider assigned to this service. */
  readonly clientId: string
  /** Client secret. Omit it for a public client, which relies on PKCE only. */
  readonly clientSecret?: string
  /** Scopes to request; `openid`, `email` and `profile` by default. */
  readonly scopes?: readonly string[]
  /** Whether the first login of a new person creates an account; false by default. */
  readonly createAccounts?: boolean
  /** Domains whose verified email addresses may log in. All others are rejected. */
  readonly emailDomains?: readonly string[]
}

export type LoginConfig = {
  /** OpenID Connect providers. */
  readonly providers?: readonly LoginProviderConfig[]
}

/**
 * Days after which the service deletes the contents of tasks and sessions; at least 7. Amounts, times and usage are
 * kept for accounting. If a field is omitted, the corresponding contents are never deleted.
 */
export type RetentionConfig = {
  /** Days after the end of a task until its params, result, error text and progress are deleted. */
  readonly tasksDays?: number
  /** Days after the last turn or update of a session until the session is deleted, with its messages and files. */
  readonly sessionsDays?: number
}

/**
 * Limits for the users of a plan. An omitted field means no limit, except `executionsPerMinute`, which defaults to the
 * value in `limits`.
 */
export type PlanConfig = {
  /** Tasks and turns that a user may start per minute; 0 for no limit. */
  readonly executionsPerMinute?: number
  /** Maximum number of tasks that a user may have running at the same time. Further tasks are queued. */
  readonly tasksAtWork?: number
  /** Maximum number of tasks that a user may have queued. The service rejects further tasks. */
  readonly tasksWaiting?: number
  /** Maximum amount that a user may spend per UTC day, for example `'5.0000'`. */
  readonly spendPerDayUsd?: string
  /** Ids of the agents that a user may run. If omitted, the user may run all agents. */
  readonly agents?: readonly string[]
}
