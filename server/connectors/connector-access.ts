import type { ConnectorRecord } from '../store/connectors/connector-types.ts'
import { badField, ErrandError } from '../kernel/errors.ts'
import type { Store } from '../store/store.ts'
import type {
  ConnectorSpec,
  HttpTarget,
  OfferedServers,
  StdioTarget,
  TokenResult,
  UnusableTarget,
} from './connector-spec.ts'
import { SealedSecretsError, type SecretVault } from '../kernel/secret-vault.ts'
import type { GrantTokens } from './sign-in/grant-tokens.ts'

type Parts = {
  store: Store
  servers: () => OfferedServers
  vault: SecretVault
  tokens: GrantTokens
  privateHosts: readonly string[]
  commandPath: string
}

/** The agent or endpoint that uses connectors. `what` names it in error messages. */
export type ConnectorTaker = { what: string; connectorTokensMax: number }

type ChatAgent = { chat: { connectorTokensMax: number } | null }

/**
 * Describes an agent whose chat uses connectors. Also accepts an agent that is no longer configured, because using it
 * later fails with a clear error.
 */
export function chatTaker(agentId: string, agent: ChatAgent | undefined): ConnectorTaker {
  return { what: `agent ${agentId}`, connectorTokensMax: agent?.chat?.connectorTokensMax ?? 1 }
}

/** Matches the names of operator environment variables whose values must not appear in responses to users. */
const secretName = /key|token|secret|pass|credential|auth(?!or)|cookie|dsn|database_url|(?:^|_)(?:pat|pwd)$/i

/**
 * Maximum number of words in a secret that are redacted individually. An auth header usually has one word or a few
 * parameters after the scheme. Further words are redacted only as part of the whole.
 */
const wordsMax = 16

export class ConnectorAccess {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  get privateHosts(): readonly string[] {
    return this.#parts.privateHosts
  }

  /**
   * Throws if the user does not own the connectors, or if the agent or endpoint accepts none. `path` names the field in
   * the error.
   */
  async assertOwned(
    connectorIds: readonly string[],
    { path, taker, userId }: { taker: ConnectorTaker; path: string; userId: string },
  ): Promise<void> {
    for (const connectorId of connectorIds) {
      if (!(await this.#parts.store.getConnector({ userId, connectorId }))) {
        throw new ErrandError(
          'CONNECTOR_NOT_FOUND',
          `Connector ${connectorId} not found. GET /api/connectors lists your connectors.`,
        )
      }
    }
    if (connectorIds.length > 0 && taker.connectorTokensMax === 0) {
      throw badField(path, `Must be omitted, because the ${taker.what} does not accept connectors`)
    }
  }

  /**
   * Returns the specs of connectors for a run. Does not throw if a connector has become unusable. Instead, the run
   * fails with the reason.
   */
  async specsOf(userId: string, connectorIds: readonly string[]): Promise<ConnectorSpec[]> {
    return await Promise.all(
      [...new Set(connectorIds)].map(async (connectorId) => {
        const record = await this.#parts.store.getConnector({ userId, connectorId })
        if (record) return await this.specOf(record)
        const target: UnusableTarget = { kind: 'unusable', reason: 'The connector was deleted. Run without it.' }
        return { connectorId, userId, name: connectorId, allowedTools: null, target, secrets: [] }
      }),
    )
  }

  async specOf(record: ConnectorRecord): Promise<ConnectorSpec> {
    const { allowedTools, authType, id: connectorId, name, url, userId } = record
    if (authType === 'oauth' && url !== null) {
      const result = await this.#parts.tokens.tokenFor({ userId, connectorId })
      const target = signedIn(url, result, this.#parts.privateHosts)
      return { connectorId, userId, name, allowedTools, target, secrets: 'token' in result ? [result.token] : [] }
    }
    const own = this.#open(record)
    const values = Object.values(own ?? {})
    const target = own
      ? this.#target(record, own)
      : unusable('The stored secrets can no longer be decrypted. Enter them again.')
    const operators = target.kind === 'stdio' ? Object.entries(target.env) : []
    const secrets = [
      ...values,
      ...values.flatMap(wordsOf),
      ...operators.filter(([variable]) => secretName.test(variable)).map(([, value]) => value),
    ]
    return { connectorId, userId, name, allowedTools, target, secrets }
  }

  #open({ id: connectorId, sealed, userId }: ConnectorRecord): Record<string, string> | undefined {
    if (sealed === null) return {}
    try {
      return this.#parts.vault.open(sealed, { userId, connectorId })
    } catch (error) {
      if (error instanceof SealedSecretsError) return undefined
      throw error
    }
  }

  #target(
    { authType, server: serverId, url }: ConnectorRecord,
    secrets: Record<string, string>,
  ): HttpTarget | StdioTarget | UnusableTarget {
    const { token } = secrets
    if (url !== null) {
      const headers = authType === 'bearer' ? { Authorization: `Bearer ${token}` } : secrets
      return { kind: 'http', url, headers, privateHosts: this.#parts.privateHosts }
    }
    const server = this.#parts.servers().get(serverId ?? '')
    if (!server) return unusable('The operator no longer provides this server. Run without the connector.')
    const { args, command, cwd = null, tokenEnv } = server
    const env = { PATH: this.#parts.commandPath, ...server.env }
    if (tokenEnv !== undefined && token !== undefined) Object.assign(env, { [tokenEnv]: token })
    return { kind: 'stdio', command, args, env, cwd }
  }
}

export function assertSignedIn(specs: readonly ConnectorSpec[]): void {
  for (const spec of specs) {
    const { target } = spec
    if (target.kind === 'unusable' && target.needsSignIn)
      throw new ErrandError('CONNECTOR_FAILED', refusalOf(spec, target))
  }
}

export function refusalOf({ name }: Pick<ConnectorSpec, 'name'>, { reason }: UnusableTarget): string {
  return `Connector "${name}": ${reason}`
}

function signedIn(url: string, result: TokenResult, privateHosts: readonly string[]): HttpTarget | UnusableTarget {
  if ('needsSignIn' in result) return { kind: 'unusable', reason: result.needsSignIn, needsSignIn: true }
  if ('failure' in result) return unusable(result.failure)
  return { kind: 'http', url, headers: {}, access: result, privateHosts }
}

/**
 * Splits a secret into words, because servers may quote only a part of it, such as the token without the auth scheme.
 */
function wordsOf(value: string): string[] {
  const rest = value.slice(value.indexOf(' ') + 1)
  return rest === value ? [] : [rest, ...rest.split(' ', wordsMax)]
}

function unusable(reason: string): UnusableTarget {
  return { kind: 'unusable', reason }
}
