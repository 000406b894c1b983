import type { TaskFailure } from '../store/tasks/task-types.ts'

/** A user's own MCP server on the network. `headers` contain the secrets. */
export type HttpTarget = {
  kind: 'http'
  url: string
  headers: Readonly<Record<string, string>>
  /** Access token from a sign-in, which may be renewed during the run. */
  access?: AccessToken
  /** `host` or `host:port` entries that the operator allows despite their private addresses. */
  privateHosts: readonly string[]
}

/** An MCP server defined by the operator, started for each run. `env` is its entire environment, including PATH. */
export type StdioTarget = {
  kind: 'stdio'
  command: string
  args: readonly string[]
  env: Readonly<Record<string, string>>
  cwd: string | null
}

/** A connector that has become unusable, for example because it was deleted or its secrets cannot be read. */
export type UnusableTarget = { kind: 'unusable'; reason: string; needsSignIn?: true }

export type AccessToken = { token: string; version: number }

/** An access token, or the reason why there is none: the user must sign in again, or a temporary failure. */
export type TokenResult = AccessToken | { needsSignIn: string } | { failure: string }

/**
 * Requests a new token after a connector's server has rejected this version of it. `scopeNeeded` is the scope that the
 * token lacks, or null if the token is invalid. Never rejects.
 */
export type RenewToken = (of: {
  userId: string
  connectorId: string
  version: number
  scopeNeeded: string | null
}) => Promise<TokenResult>

/**
 * A connector as a run receives it: where to connect, with which credentials, and which tools are allowed. Never
 * logged.
 */
export type ConnectorSpec = {
  connectorId: string
  userId: string
  name: string
  /** Tools that the user allows; null for all. */
  allowedTools: readonly string[] | null
  target: HttpTarget | StdioTarget | UnusableTarget
  /** Values that must not appear in any message. */
  secrets: readonly string[]
}

/** An MCP server that the operator offers to users, by its id. */
export type OfferedServers = ReadonlyMap<
  string,
  {
    name: string
    description: string
    command: string
    args: readonly string[]
    env: Readonly<Record<string, string>>
    cwd?: string | undefined
    /** Variable for the user's own token; undefined if the server takes none. */
    tokenEnv?: string | undefined
  }
>

/** How a check ended: with the server's tools, with the reason why the connector is unusable, or without an answer. */
export type ProbeOutcome =
  | { kind: 'completed'; json: string }
  | { kind: 'failed'; error: TaskFailure }
  | { kind: 'interrupted'; message: string }

/** Why a connector is unusable, as one sentence for its user. */
export class ConnectorError extends Error {
  override readonly name = 'ConnectorError'
}

/** Why a run cannot use its connectors now, through no fault of its user, a server or the agent. */
export class ConnectorsUnavailableError extends Error {
  override readonly name = 'ConnectorsUnavailableError'
}
