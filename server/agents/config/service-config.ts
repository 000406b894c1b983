import type { LimitName } from '../../kernel/settings.ts'

// Configuration fields besides agents. docs/reference/settings.md is generated from their comments.

/** Limits of the service. docs/reference/settings.md has the meaning and default of each. */
export type LimitsConfig = { readonly [Name in LimitName]?: number }

/** An MCP server that the operator offers to users. Started for each use, without a shell. */
export type StdioServerConfig = {
  /** Name shown to users. */
  readonly name: string
  /** Description shown to users. */
  readonly description?: string
  /** A file, or a name that is looked up in PATH. */
  readonly command: string
  /** Command-line arguments. */
  readonly args?: readonly string[]
  /** The server's whole environment besides PATH. */
  readonly env?: { readonly [name: string]: string }
  /** Working folder of the process. */
  readonly cwd?: string
  /** Environment variable that receives the user's own token. Without it users provide no token. */
  readonly tokenEnv?: string
}

/** Services that users may connect. */
export type ConnectorsConfig = {
  /** MCP servers on this machine, by id. */
  readonly servers?: { readonly [id: string]: StdioServerConfig }
  /**
   * `host` or `host:port` with private IP addresses that users' connectors may still reach, also over http. Without it
   * connectors reach public addresses over https only.
   */
  readonly privateHosts?: readonly string[]
}

/** Destinations that webhooks may reach. */
export type WebhooksConfig = {
  /**
   * `host` or `host:port` with private IP addresses that webhooks may still reach, also over http. Without it events go to
   * public addresses over https only.
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
  /** Omit it for a public client, which only PKCE protects. */
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

/** Limits of a plan's users. An omitted field means no limit, except that executions per minute default to the limits above. */
export type PlanConfig = {
  /** Tasks and chats that a user may start per minute; 0 for no limit. */
  readonly executionsPerMinute?: number
  /** Tasks of a user that run simultaneously. Further tasks are queued. */
  readonly tasksAtWork?: number
  /** Tasks of a user that may be queued. The service rejects further ones. */
  readonly tasksWaiting?: number
  /** Maximum spending of a user per UTC day, for example `'5.0000'`. */
  readonly spendPerDayUsd?: string
  /** Ids of the agents that a user may run. All agents if omitted. */
  readonly agents?: readonly string[]
}
