/** An MCP server of the user's own on the network. `headers` hold the secrets. */
export type HttpTarget = {
  kind: 'http'
  url: string
  headers: Readonly<Record<string, string>>
  /** The access token of a sign-in, which may be renewed while the run goes on. */
  access?: AccessToken
  /** `host` or `host:port` that the operator allows though their addresses are private. */
  privateHosts: readonly string[]
}

/** An MCP server that the operator defined, started for each run. `env` is all that it sees, PATH included. */
export type StdioTarget = {
  kind: 'stdio'
  command: string
  args: readonly string[]
  env: Readonly<Record<string, string>>
  cwd: string | null
}

/** A connector that was accepted and cannot be used any more: it was deleted, or its secrets cannot be read. */
export type UnusableTarget = { kind: 'unusable'; reason: string; needsSignIn?: true }

/** A token, and the version of the tokens that it is of. */
export type AccessToken = { token: string; version: number }

/** A token, or why there is none: as long as nobody signs in, or as it seems for now. */
export type TokenResult = AccessToken | { needsSignIn: string } | { failure: string }

/**
 * Asks for another token than the one of that version, which a connector's server did not take, or not for want of
 * `scopeNeeded`. Never rejects.
 */
export type RenewToken = (of: {
  userId: string
  connectorId: string
  version: number
  scopeNeeded: string | null
}) => Promise<TokenResult>

/** A connector as a run is given it: where to connect, as whom, and what may be called. Never logged. */
export type ConnectorSpec = {
  connectorId: string
  userId: string
  name: string
  /** The tools that the user allows; null for all of them. */
  allowedTools: readonly string[] | null
  target: HttpTarget | StdioTarget | UnusableTarget
  /** What no message may repeat. */
  secrets: readonly string[]
}

/** Why a connector cannot be used, in a sentence for its user. */
export class ConnectorError extends Error {
  override readonly name = 'ConnectorError'
}

/** Why a run cannot use its connectors now, by no fault of its user, of a server or of the agent. */
export class ConnectorsUnavailableError extends Error {
  override readonly name = 'ConnectorsUnavailableError'
}
