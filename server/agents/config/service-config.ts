import type { LimitName } from '../../kernel/settings.ts'

// The fields of the configuration beside its agents; docs/reference/settings.md has their comments.

/** Limits of the service: docs/reference/settings.md has the meaning and the default of each. */
export type LimitsConfig = { readonly [Name in LimitName]?: number }

/** An MCP server that the operator offers to users. It is started for each use, without a shell. */
export type StdioServerConfig = {
  /** As users read it. */
  readonly name: string
  /** What it offers, as users read it. */
  readonly description?: string
  /** A file, or a name that is looked up in PATH. */
  readonly command: string
  /** Arguments of the command. */
  readonly args?: readonly string[]
  /** All that the server sees of an environment besides PATH. */
  readonly env?: { readonly [name: string]: string }
  /** The folder that it is started in. */
  readonly cwd?: string
  /** The variable that the user's own token is passed in; without it users give none. */
  readonly tokenEnv?: string
}

/** What users may connect. */
export type ConnectorsConfig = {
  /** MCP servers on this machine, by id. */
  readonly servers?: { readonly [id: string]: StdioServerConfig }
  /**
   * `host` or `host:port` that users' connectors may reach though their addresses are private, over http too. Without
   * it connectors reach public addresses over https only.
   */
  readonly privateHosts?: readonly string[]
}

/** Where users may have events sent. */
export type WebhooksConfig = {
  /**
   * `host` or `host:port` that webhooks may reach though their addresses are private, over http too. Without it events go
   * to public addresses over https only.
   */
  readonly privateHosts?: readonly string[]
}

/** A provider of OpenID Connect that people log in to the console through. */
export type LoginProviderConfig = {
  /** Part of the addresses `/login/oidc/ID` and `/login/oidc/ID/callback`; the latter is the redirect URI to register. */
  readonly id: string
  /** On the button of the login page. */
  readonly name: string
  /** Its discovery document is at `ISSUER/.well-known/openid-configuration`. */
  readonly issuer: string
  /** As the provider registered this service. */
  readonly clientId: string
  /** Left out for a public client, which PKCE protects alone. */
  readonly clientSecret?: string
  /** What the provider is asked for; `openid`, `email` and `profile` by default. */
  readonly scopes?: readonly string[]
  /** Whether a person without an account gets one at the first login; false by default. */
  readonly createAccounts?: boolean
  /** Only verified addresses of these domains may log in. */
  readonly emailDomains?: readonly string[]
}

/** How people log in to the console, beside email address and password. */
export type LoginConfig = {
  /** Providers of OpenID Connect. */
  readonly providers?: readonly LoginProviderConfig[]
}

/** What users of a plan may do; what is left out is not limited, and executions a minute are those of the limits above. */
export type PlanConfig = {
  /** Tasks and chats that a user may begin; 0 for no limit. */
  readonly executionsPerMinute?: number
  /** Tasks of a user that agents are at work on at the same time; further ones wait. */
  readonly tasksAtWork?: number
  /** Tasks of a user that may wait; further ones are refused. */
  readonly tasksWaiting?: number
  /** What a user may spend on a day of UTC, for example `'5.0000'`. */
  readonly spendPerDayUsd?: string
  /** Ids of the agents that a user may run; all of them when it is left out. */
  readonly agents?: readonly string[]
}
