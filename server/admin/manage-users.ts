import type { z } from 'zod'
import { eraseUser as erase } from '../account/erase-account.ts'
import { assertAgents, type Catalogue } from '../agents/config/catalogue.ts'
import { actorOf, requirePlatform, platformOf, type AnyCaller } from '../procedures/caller.ts'
import { changesOf, toOwnLimits } from '../billing/limit-schema.ts'
import { secondsUntil } from '../billing/refusals.ts'
import { must } from '../kernel/assert.ts'
import { dateOf, futureTime, isoTime, isoTimeOrNull, type Clock } from '../kernel/clock.ts'
import { badField, ErrandError } from '../kernel/errors.ts'
import type { Logger } from '../kernel/logger.ts'
import { formatUsd, parseUsd } from '../kernel/money.ts'
import type { PaymentParts } from '../payments/manage-topups.ts'
import type { UserAccount } from '../store/access/people-types.ts'
import type { Store } from '../store/store.ts'
import type {
  CreditedUser,
  CreditUserInput,
  ErasedUser,
  EraseUserInput,
  ListUsersInput,
  ListUsersOutput,
  OpenedUser,
  OpenExternalUserInput,
  UpdateUserInput,
  User,
} from './user-schema.ts'

const dayMs = 86_400_000
/** Number of UTC days that `spentUsd` covers in the list of users. */
const spentDays = 30

export type UserParts = { store: Store; clock: Clock; log: Logger }

export async function listUsers(
  { clock, store, defaultPlan = null }: UserParts & { defaultPlan?: string | null },
  { caller, input: { limit, offset, order, plan, search } }: Change<z.output<typeof ListUsersInput>>,
): Promise<z.output<typeof ListUsersOutput>> {
  const asked = {
    limit,
    offset,
    order,
    spentSince: Math.floor(clock.now() / dayMs) - spentDays + 1,
    ...reachOf(caller),
    ...(search !== undefined && { search }),
    ...(plan !== undefined && { plan, isDefaultPlan: plan === defaultPlan }),
  }
  const { total, users } = await store.listUsers(asked)
  return {
    users: users.map((user) => ({
      ...toUser(user, clock),
      spentUsd: formatUsd(user.spent),
      activeOn: user.activeDay === null ? null : dateOf(user.activeDay),
    })),
    total,
    limit,
    offset,
  }
}

type Change<Input> = { caller: AnyCaller; input: Input }

/** Platform keys cannot see admins. */
function reachOf(caller: AnyCaller) {
  return platformOf(caller) ? { withoutAdmins: true } : {}
}

export async function getUser({ clock, store }: UserParts, { caller, userId }: { caller: AnyCaller; userId: string }) {
  const user = await store.getUser(userId)
  if (!user || (user.isAdmin && platformOf(caller))) throw unknown()
  return toUser(user, clock)
}

export async function getExternalUser(
  parts: UserParts,
  { caller, externalId }: { caller: AnyCaller; externalId: string },
): Promise<User> {
  const user = await parts.store.platform.findUser({ externalId })
  if (!user) throw unknown()
  return await getUser(parts, { caller, userId: user.id })
}

/**
 * Returns the user with this external id, or creates one with an empty account. Concurrent requests create only one.
 */
export async function openExternalUser(
  parts: UserParts,
  { caller, input }: Change<z.output<typeof OpenExternalUserInput>>,
): Promise<z.output<typeof OpenedUser>> {
  const { email = null, externalId } = input
  const opened = await parts.store.platform.openUser({ externalId, email, keyId: platformOf(caller)?.keyId ?? null })
  if (opened.outcome === 'refused') {
    throw new ErrandError(
      'CONFLICT',
      'Another user already has this email address. Omit email or send a different address.',
    )
  }
  const { outcome, userId } = opened
  if (outcome === 'created') noteChange(parts, { caller, userId }, 'created a user')
  return { ...(await getUser(parts, { caller, userId })), created: outcome === 'created' }
}

/** Throws 400, without changing anything, if the plan or an agent is not configured. */
export async function updateUser(
  parts: UserParts & { catalogue: Catalogue },
  { caller, input }: Change<z.output<typeof UpdateUserInput>>,
): Promise<User> {
  const { userId, isAdmin, isSuspended, limits, plan } = input
  if (isAdmin !== undefined && platformOf(caller)) {
    throw new ErrandError('FORBIDDEN', 'A platform key cannot grant or remove admin rights. Omit isAdmin.')
  }
  const changesLimits = plan !== undefined || limits !== undefined
  if (isSuspended !== undefined || !changesLimits) requirePlatform(caller, 'users')
  if (changesLimits) requirePlatform(caller, 'limits')
  assertKnown(parts.catalogue, input)
  const platform = platformOf(caller)
  // Limits set by a platform key can be rejected, so apply them before changing anything else.
  if (changesLimits && platform) {
    const { erasedAt } = await getUser(parts, { caller, userId })
    if (erasedAt === null) await changeLimits(parts, { caller, input })
  }
  const result = await parts.store.updateUser({
    userId,
    ...reachOf(caller),
    ...(isAdmin !== undefined && { isAdmin }),
    ...(isSuspended !== undefined && { isSuspended }),
  })
  if (result.outcome === 'refused') {
    if (result.reason === 'unknown') throw unknown()
    if (result.reason === 'erased') throw new ErrandError('CONFLICT', 'This user was erased and cannot be changed.')
    throw new ErrandError('CONFLICT', 'This is the last active admin. Make another user an admin first.')
  }
  if (changesLimits && !platform) await changeLimits(parts, { caller, input })
  noteChange(parts, { caller, userId, isAdmin, isSuspended, plan, limits }, 'changed a user')
  return await getUser(parts, { caller, userId })
}

/** A platform key can choose among the configured plans, but cannot set a user's own limits above the plan's. */
async function changeLimits(
  { store }: UserParts,
  { caller, input: { limits = {}, plan, userId } }: Change<z.output<typeof UpdateUserInput>>,
): Promise<void> {
  const isWithinPlan = platformOf(caller) !== undefined
  const change = { userId, changes: changesOf(limits), isWithinPlan, ...(plan !== undefined && { plan }) }
  const result = await store.changeAccountLimits(change)
  if (result.outcome === 'changed' || result.reason === 'unknown') return
  const name = result.limit === 'spendPerDay' ? 'spendPerDayUsd' : result.limit
  throw new ErrandError(
    'FORBIDDEN',
    `limits.${name}: A platform key cannot allow more than the user's plan. Send a lower limit, or null to use the plan's.`,
  )
}

function assertKnown(catalogue: Catalogue, { limits, plan }: z.output<typeof UpdateUserInput>): void {
  if (plan !== undefined && plan !== null && !catalogue.plans.named.has(plan)) {
    const names = [...catalogue.plans.named.keys()].join(', ')
    throw badField(
      'plan',
      names === '' ? 'Must be omitted or null, because the configuration has no plans' : `Must be one of ${names}`,
    )
  }
  assertAgents(catalogue, { agentIds: limits?.agents, path: 'limits.agents' })
}

/** Platform keys can erase only users that they can see, and cannot set `leaveSavedMethod`. */
export async function eraseUser(
  parts: UserParts & { port?: PaymentParts['port'] },
  { caller, input }: Change<z.output<typeof EraseUserInput>>,
): Promise<z.output<typeof ErasedUser>> {
  const { leaveSavedMethod, userId } = input
  if (leaveSavedMethod && platformOf(caller)) {
    throw new ErrandError('FORBIDDEN', 'A platform key cannot leave a saved payment method. Omit leaveSavedMethod.')
  }
  const leftMethod = await erase(parts, { ...input, ...reachOf(caller) })
  noteChange(parts, { caller, userId, leftMethod }, 'erased a user')
  return { ...(await getUser(parts, { caller, userId })), leftMethod }
}

/** Lifts the user's abuse block and the block on tasks with connectors, if there are any. */
export async function unblockUser(parts: UserParts, { caller, input }: Change<{ userId: string }>): Promise<User> {
  const { userId } = input
  await getUser(parts, { caller, userId })
  await parts.store.unblock(userId)
  noteChange(parts, { caller, userId }, 'lifted a block')
  return await getUser(parts, { caller, userId })
}

/**
 * Credits or debits a user's balance. A debit cannot take money that is on hold for running chats. A platform key can
 * take back only what platform keys have credited.
 */
export async function creditUser(
  parts: UserParts,
  { caller, idempotencyKey, input }: Change<z.output<typeof CreditUserInput>> & { idempotencyKey: string | null },
): Promise<z.output<typeof CreditedUser>> {
  const { store } = parts
  const platform = platformOf(caller)
  const { amountUsd, reason, userId } = input
  const amount = parseUsd(amountUsd)
  if (amount === undefined || amount === 0) throw badField('amountUsd', 'Must be an amount other than zero')
  const by = platform ? { platformKeyId: platform.keyId } : {}
  const result = await store.credit({ userId, amount, description: reason, idempotencyKey, ...by })
  if (result.outcome === 'refused') {
    if (result.reason === 'unknown-user') throw unknown()
    if (result.reason === 'idempotency-conflict') {
      throw new ErrandError(
        'CONFLICT',
        'This Idempotency-Key was already used for this user with a different amount. Send a new key.',
      )
    }
    if (result.reason === 'limit') {
      const { keyId } = must(platform, 'only platform keys have a credit limit')
      throw await creditLimitRefusal(parts, { keyId, isTaken: amount < 0 })
    }
    if (result.reason === 'not-credited') {
      const most = formatUsd(result.platformCredited)
      const message = `Platform keys can take back at most ${most} USD from this user, the part of their credit that is left. Ask an admin to take back more.`
      throw new ErrandError('FORBIDDEN', message)
    }
    const bound = amount < 0 ? 'below the amount held for turns in progress' : 'above 100 billion USD'
    throw badField('amountUsd', `Must not take the balance ${bound}`)
  }
  const { balance, transactionId } = result
  noteChange(parts, { caller, userId, transactionId, amountUsd: formatUsd(amount) }, 'credited a user')
  return { transactionId, balanceUsd: formatUsd(balance) }
}

type CreditLimitRefusal = { keyId: string; isTaken: boolean }

async function creditLimitRefusal(
  { clock, store }: UserParts,
  { isTaken, keyId }: CreditLimitRefusal,
): Promise<ErrandError> {
  const key = await store.platform.getKey(keyId)
  if (!key || key.revokedAt !== null)
    return new ErrandError('UNAUTHORIZED', 'The platform key is invalid or revoked. Send an active key.')
  const now = clock.now()
  const resetsAt = (Math.floor(now / dayMs) + 1) * dayMs
  const most = formatUsd(key.creditPerDay ?? 0)
  const [what, counted] = isTaken ? ['can take back', key.takenToday] : ['can credit', key.creditedToday]
  const done = isTaken ? 'taken back' : 'credited'
  const message = `This platform key ${what} at most ${most} USD per UTC day and has ${done} ${formatUsd(counted)} USD today. Retry after ${isoTime(resetsAt)}.`
  return new ErrandError('LIMIT_REACHED', message, { retryAfterSeconds: secondsUntil(resetsAt, now) })
}

export function noteChange(
  { log }: UserParts,
  { caller, ...about }: { caller: AnyCaller; userId: string; [field: string]: unknown },
  what: string,
): void {
  const { ids, who } = actorOf(caller)
  log.info({ ...ids, ...about }, `${who} ${what}`)
}

function toUser(user: UserAccount, clock: Clock): User {
  const { balance, blockedUntil, connectorsBlockedUntil, createdAt, email, externalId, held, id } = user
  const { erasedAt, isAdmin, limits, owed, plan, suspendedAt, writtenOff } = user
  return {
    id,
    email,
    externalId,
    isAdmin,
    isSuspended: suspendedAt !== null,
    erasedAt: isoTimeOrNull(erasedAt),
    balanceUsd: formatUsd(balance),
    heldUsd: formatUsd(held),
    owedUsd: formatUsd(owed),
    writtenOffUsd: formatUsd(writtenOff),
    plan,
    limits: toOwnLimits(limits),
    blockedUntil: futureTime(blockedUntil, clock),
    connectorsBlockedUntil: futureTime(connectorsBlockedUntil, clock),
    createdAt: isoTime(createdAt),
  }
}

function unknown(): ErrandError {
  return new ErrandError('NOT_FOUND', 'User not found. Check the id.')
}
