import type { TaskFailure } from '../store/tasks/task-types.ts'

/** A user's own MCP server on the network. Its secrets are in `headers`. */
export type HttpTarget = {
  kind: 'http'
  url: string
  headers: Readonly<Record<string, string>>
  /** Access token from a sign-in. It may be renewed during the run. */
  access?: AccessToken
  /** Private hosts that the operator allows, as `host` or `host:port`. */
  privateHosts: readonly string[]
}

/**
 * An MCP server defined by the operator. A process is started for each run. `env` is its entire environment, including
 * PATH.
 */
export type StdioTarget = {
  kind: 'stdio'
  command: string
  args: readonly string[]
  env: Readonly<Record<string, string>>
  cwd: string | null
}

/** A connector that has become unusable, for example because it was deleted or its secrets cannot be decrypted. */
export type UnusableTarget = { kind: 'unusable'; reason: string; needsSignIn?: true }

export type AccessToken = { token: string; version: number }

/** An access token, or why there is none: the user must sign in again, or the request failed temporarily. */
export type TokenResult = AccessToken | { needsSignIn: string } | { failure: string }

/**
 * Requests a new token after a connector's server has rejected this version of the token. `scopeNeeded` is the missing
 * scope, or null if the token is invalid. Never rejects.
 */
export type RenewToken = (of: {
  userId: string
  connectorId: string
  version: number
  scopeNeeded: string | null
}) => Promise<TokenResult>

/**
 * A connector as used by a run: where to connect, with which credentials, and which tools are allowed. Must not be
 * logged.
 */
export type ConnectorSpec = {
  connectorId: string
  userId: string
  name: string
  /** Tools that the user allows, or null for all tools. */
  allowedTools: readonly string[] | null
  target: HttpTarget | StdioTarget | UnusableTarget
  secrets: readonly string[]
}

export type OfferedServers = ReadonlyMap<
  string,
  {
    name: string
    description: string
    command: string
    args: readonly string[]
    env: Readonly<Record<string, string>>
    cwd?: string | undefined
    /** Environment variable for the user's own token. Undefined if the server does not use one. */
    tokenEnv?: string | undefined
  }
>

/** A call of a tool outside of runs. `args` is the JSON of an object. */
export type ToolCall = { tool: string; args: string }

/** A connection outside of runs, to list the server's tools or to call one of them. */
export type ProbeRequest = { spec: ConnectorSpec; call?: ToolCall | undefined }

/**
 * Result of a probe: the JSON of ConnectorTools or of a CallResult, the reason why the connector is unusable, or why
 * the probe was interrupted.
 */
export type ProbeOutcome =
  | { kind: 'completed'; json: string }
  | { kind: 'failed'; error: TaskFailure }
  | { kind: 'interrupted'; message: string }

/** Thrown if a connector is unusable. The message tells the user why in one sentence. */
export class ConnectorError extends Error {
  override readonly name: string = 'ConnectorError'
}

/**
 * Thrown if a run calls a tool that none of its connectors has. The error's name becomes the failed task's `details`,
 * so that clients can recognize the failure.
 */
export class UnknownToolError extends ConnectorError {
  override readonly name = 'UnknownToolError'
}

/** Thrown if a run temporarily cannot use its connectors, through no fault of the user, a server or the agent. */
export class ConnectorsUnavailableError extends Error {
  override readonly name = 'ConnectorsUnavailableError'
}
