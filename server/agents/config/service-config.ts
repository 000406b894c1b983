import type { LimitName } from '../../kernel/settings.ts'

// All configuration fields except `agents`. docs/reference/settings.md is generated from these comments.

/** Limits of the service. docs/reference/settings.md has the meaning and default of each. */
export type LimitsConfig = { readonly [Name in LimitName]?: number }

/** An MCP server that the operator offers to users. Started for each use, without a shell. */
export type StdioServerConfig = {
  /** Name shown to users. */
  readonly name: string
  /** Description shown to users. */
  readonly description?: string
  /** Path of an executable, or a name that is looked up in PATH. */
  readonly command: string
  /** Command-line arguments. */
  readonly args?: readonly string[]
  /** All environment variables of the server except PATH. */
  readonly env?: { readonly [name: string]: string }
  /** Working folder of the process. */
  readonly cwd?: string
  /** Environment variable that receives the user's own token. If omitted, users provide no token. */
  readonly tokenEnv?: string
}

/** Services that users may connect. */
export type ConnectorsConfig = {
  /** MCP servers on this machine, by id. */
  readonly servers?: { readonly [id: string]: StdioServerConfig }
  /**
   * Hosts with private IP addresses that users' connectors may reach, as `host` or `host:port`. Connectors may reach
   * them over http too. All other hosts must have public addresses and use https.
   */
  readonly privateHosts?: readonly string[]
}

/** Destinations that webhooks may reach. */
export type WebhooksConfig = {
  /**
   * Hosts with private IP addresses that webhooks may reach, as `host` or `host:port`. Webhooks may reach them over
   * http too. All other hosts must have public addresses and use https.
   */
  readonly privateHosts?: readonly string[]
}

/** An OpenID Connect provider for logging in to the console. */
export type LoginProviderConfig = {
  /** Part of the URLs `/login/oidc/ID` and `/login/oidc/ID/callback`. Register the latter as the redirect URI. */
  readonly id: string
  /** Label of the button on the login page. */
  readonly name: string
  /** Issuer URL. The discovery document is at `ISSUER/.well-known/openid-configuration`. */
  readonly issuer: string
  /** Client id that the provider assigned to this service. */
  readonly clientId: string
  /** Client secret. Omit it for a public client, which is protected only by PKCE. */
  readonly clientSecret?: string
  /** Scopes to request; `openid`, `email` and `profile` by default. */
  readonly scopes?: readonly string[]
  /** Whether the first login creates an account for a new person; false by default. */
  readonly createAccounts?: boolean
  /** Only verified email addresses in these domains may log in. */
  readonly emailDomains?: readonly string[]
}

/** Single sign-on to the console, in addition to email and password. */
export type LoginConfig = {
  /** OpenID Connect providers. */
  readonly providers?: readonly LoginProviderConfig[]
}

/**
 * Ages at which the service deletes contents, in days: at least 7. The money, times and usage stay, because the books
 * need them. An omitted field means that nothing is deleted.
 */
export type RetentionConfig = {
  /** Days after the end of a task: deletes its params, result, error text and progress. */
  readonly tasksDays?: number
  /** Days after the last turn or update of a session: deletes it with its messages and files. */
  readonly sessionsDays?: number
}

/**
 * Limits of a plan's users. An omitted field means no limit, except that `executionsPerMinute` then has its value from
 * `limits`.
 */
export type PlanConfig = {
  /** Tasks and turns that a user may start per minute; 0 for no limit. */
  readonly executionsPerMinute?: number
  /** Maximum tasks of a user that run simultaneously. Further tasks are queued. */
  readonly tasksAtWork?: number
  /** Maximum queued tasks of a user. The service rejects further tasks. */
  readonly tasksWaiting?: number
  /** Maximum spending of a user per UTC day, for example `'5.0000'`. */
  readonly spendPerDayUsd?: string
  /** Ids of the agents that a user may run. All agents if omitted. */
  readonly agents?: readonly string[]
}
