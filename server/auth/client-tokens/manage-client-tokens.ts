import type { z } from 'zod'
import { assertAgents, type Catalogue } from '../../agents/config/catalogue.ts'
import { must } from '../../kernel/assert.ts'
import { isoTime, isoTimeOrNull } from '../../kernel/clock.ts'
import { badField, ErrandError } from '../../kernel/errors.ts'
import { formatUsd, parseUsd } from '../../kernel/money.ts'
import type { ClientTokenRecord, TokenScope } from '../../store/platform/platform-types.ts'
import { tokenSpend, type SpendState } from '../../store/limits/execution-limits.ts'
import type { Page } from '../../store/list-place.ts'
import type { Store } from '../../store/store.ts'
import type { Caller } from '../../procedures/caller.ts'
import { hashToken, newToken } from '../keys/api-token.ts'
import type {
  ClientToken,
  CreateClientTokenInput,
  CreatedClientToken,
  ListClientTokensOutput,
} from './client-token-schema.ts'
import { boundElsewhere } from '../../procedures/token-reach.ts'

type Parts = { catalogue: Catalogue; store: Store }
type TokenInput = z.output<typeof CreateClientTokenInput>

/** Creates a token with at most its creator's rights and lifetime. The token itself is returned only once. */
export async function createClientToken(
  { catalogue, store }: Parts,
  { caller, input }: { caller: Caller; input: TokenInput },
): Promise<z.output<typeof CreatedClientToken>> {
  const { expiresInSeconds, once: isOnce, sessionId = null, taskId = null } = input
  const scopes = scopesOf(caller, input)
  const maxCost = maxCostOf(input, scopes)
  assertAgents(catalogue, { agentIds: input.agents, path: 'agents', email: caller.email })
  await assertOwned(store, caller.userId, input)
  const token = newToken('client')
  const record = await store.platform.createToken({
    userId: caller.userId,
    tokenHash: hashToken(token),
    scopes,
    agents: agentsOf(caller, input),
    sessionId,
    taskId,
    maxCost,
    isOnce,
    createdBy: makerOf(caller),
    lifeMs: expiresInSeconds * 1000,
  })
  return { ...(await toClientTokens(store, [record]))[0]!, token }
}

export async function listClientTokens(
  store: Store,
  of: Page & { userId: string },
): Promise<z.output<typeof ListClientTokensOutput>> {
  const { tokens, total } = await store.platform.listTokens(of)
  return { clientTokens: await toClientTokens(store, tokens), total, limit: of.limit, offset: of.offset }
}

export async function revokeClientToken(
  { store }: Pick<Parts, 'store'>,
  { tokenId, userId }: { userId: string; tokenId: string },
): Promise<ClientToken> {
  const record = await store.platform.revokeToken({ userId, tokenId })
  if (!record) throw new ErrandError('NOT_FOUND', 'Client token not found. Check the id.')
  return (await toClientTokens(store, [record]))[0]!
}

function scopesOf(caller: Caller, { scopes }: TokenInput): TokenScope[] {
  const own = (['read', 'execute'] as const).filter((scope) => caller.scopes.includes(scope))
  const asked = [...new Set(scopes ?? own)]
  const mayPay = caller.scopes.includes('manage')
  const beyond = asked.find((scope) => !caller.scopes.includes(scope) && !(scope === 'pay' && mayPay))
  if (beyond === undefined && asked.length > 0) return asked
  const message = `A client token cannot have scopes that its creator lacks. Remove "${beyond ?? 'read'}".`
  throw new ErrandError('FORBIDDEN', message)
}

function maxCostOf({ maxCostUsd, once, sessionId, taskId }: TokenInput, scopes: readonly TokenScope[]): number | null {
  if (sessionId !== undefined && taskId !== undefined) throw badField('taskId', 'Must be omitted if sessionId is set')
  for (const [field, isGiven] of [
    ['maxCostUsd', maxCostUsd !== undefined],
    ['once', once],
  ] as const) {
    if (isGiven && taskId !== undefined)
      throw badField(field, 'Must be omitted if taskId is set, because a token for a task cannot start executions')
    if (isGiven && !scopes.includes('execute')) throw badField(field, 'Requires the scope "execute"')
  }
  return maxCostUsd === undefined ? null : must(parseUsd(maxCostUsd), 'the schema accepts only valid amounts')
}

function agentsOf({ agents: own }: Caller, { agents }: TokenInput): string[] | null {
  const asked = agents === undefined ? own : [...new Set(agents)]
  const beyond = asked?.find((agent) => own !== null && !own.includes(agent))
  if (beyond === undefined) return asked && [...asked]
  throw new ErrandError(
    'FORBIDDEN',
    `A client token cannot run agents that its creator cannot run. Remove "${beyond}".`,
  )
}

async function assertOwned(store: Store, userId: string, { sessionId, taskId }: TokenInput): Promise<void> {
  if (sessionId !== undefined && !(await store.getSession({ userId, sessionId }))) throw boundElsewhere('session')
  if (taskId !== undefined && !(await store.getTask({ userId, taskId }))) throw boundElsewhere('task')
}

/** Returns the id of the creator's credential. The token is valid only as long as that credential. */
function makerOf({ credential }: Caller): string {
  if (credential.kind === 'key') return credential.keyId
  if (credential.kind === 'login') return credential.loginId
  if (credential.kind === 'acting') return credential.platformKeyId
  throw new Error('Client tokens cannot create client tokens. Use an API key, a login or a platform key.')
}

export async function toClientTokens(store: Store, records: readonly ClientTokenRecord[]): Promise<ClientToken[]> {
  const states = await store.spendStates(records.map(tokenSpend))
  return records.map((record, n) => toClientToken(record, states[n]!))
}

function toClientToken(record: ClientTokenRecord, { charged, held }: SpendState): ClientToken {
  const { agents, createdBy, id, isOnce, maxCost, scopes, sessionId, taskId, userId } = record
  return {
    id,
    userId,
    scopes,
    agents,
    sessionId,
    taskId,
    maxCostUsd: maxCost === null ? null : formatUsd(maxCost),
    usedUsd: formatUsd(charged + held),
    once: isOnce,
    createdBy,
    createdAt: isoTime(record.createdAt),
    expiresAt: isoTime(record.expiresAt),
    revokedAt: isoTimeOrNull(record.revokedAt),
  }
}
