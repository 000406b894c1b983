import type { z } from 'zod'
import { assertAgents, type Catalogue } from '../agents/config/catalogue.ts'
import type { Caller } from '../auth/caller.ts'
import { changesOf, toOwnLimits } from '../billing/limit-schema.ts'
import { isoTime, type Clock } from '../kernel/clock.ts'
import { badField, ErrandError } from '../kernel/errors.ts'
import type { Logger } from '../kernel/logger.ts'
import { formatUsd, parseUsd } from '../kernel/money.ts'
import type { UserAccount } from '../store/people.ts'
import type { Store } from '../store/store.ts'
import type {
  CreditedUser,
  CreditUserInput,
  ListUsersInput,
  ListUsersOutput,
  UpdateUserInput,
  User,
} from './user-schema.ts'

type Parts = { store: Store; clock: Clock; log: Logger }

export async function listUsers(
  { clock, store }: Parts,
  { limit, offset, search }: z.output<typeof ListUsersInput>,
): Promise<z.output<typeof ListUsersOutput>> {
  const { total, users } = await store.listUsers({ limit, offset, ...(search !== undefined && { search }) })
  return { users: users.map((user) => toUser(user, clock)), total, limit, offset }
}

export async function getUser({ clock, store }: Parts, userId: string): Promise<User> {
  const user = await store.getUser(userId)
  if (!user) throw unknown()
  return toUser(user, clock)
}

type Change<Input> = { caller: Caller; input: Input }

/** Throws 400 where the configuration has no such plan or agent, before anything is changed. */
export async function updateUser(
  parts: Parts & { catalogue: Catalogue },
  { caller, input }: Change<z.output<typeof UpdateUserInput>>,
): Promise<User> {
  const { userId, isAdmin, isSuspended, limits, plan } = input
  assertKnown(parts.catalogue, input)
  const result = await parts.store.updateUser({
    userId,
    ...(isAdmin !== undefined && { isAdmin }),
    ...(isSuspended !== undefined && { isSuspended }),
  })
  if (result.outcome === 'refused') {
    if (result.reason === 'unknown') throw unknown()
    throw new ErrandError('CONFLICT', 'This is the last admin who can act; make another user an admin first.')
  }
  if (plan !== undefined || limits !== undefined) {
    const changes = changesOf(limits ?? {})
    await parts.store.changeAccountLimits({ userId, changes, ...(plan !== undefined && { plan }) })
  }
  parts.log.info({ adminId: caller.userId, userId, isAdmin, isSuspended, plan, limits }, 'an admin changed a user')
  return await getUser(parts, userId)
}

function assertKnown(catalogue: Catalogue, { limits, plan }: z.output<typeof UpdateUserInput>): void {
  if (plan != null && !catalogue.plans.named.has(plan)) {
    const names = [...catalogue.plans.named.keys()].join(', ')
    throw badField('plan', names === '' ? 'The configuration has no plans' : `Must be one of ${names}`)
  }
  assertAgents(catalogue, { agentIds: limits?.agents, path: 'limits.agents' })
}

/** Lifts an abuse block; nothing happens to a user who is not blocked. */
export async function unblockUser(parts: Parts, { caller, input }: Change<{ userId: string }>): Promise<User> {
  const { userId } = input
  await getUser(parts, userId)
  await parts.store.unblock(userId)
  parts.log.info({ adminId: caller.userId, userId }, 'an admin lifted a block')
  return await getUser(parts, userId)
}

/** Adds to a user's balance, or takes from it, never below what running chats hold. */
export async function creditUser(
  { log, store }: Parts,
  { caller, idempotencyKey, input }: Change<z.output<typeof CreditUserInput>> & { idempotencyKey: string | null },
): Promise<z.output<typeof CreditedUser>> {
  const { amountUsd, reason, userId } = input
  const amount = parseUsd(amountUsd)
  if (amount === undefined || amount === 0) throw badField('amountUsd', 'Must be an amount other than zero')
  const result = await store.credit({ userId, amount, description: reason, idempotencyKey })
  if (result.outcome === 'refused') {
    if (result.reason === 'unknown-user') throw unknown()
    if (result.reason === 'idempotency-conflict') {
      throw new ErrandError('CONFLICT', 'The Idempotency-Key was used for this user with another amount.')
    }
    throw badField('amountUsd', 'Would take the balance below what is held of it, or beyond 100 billion USD')
  }
  const { balance, transactionId } = result
  log.info({ adminId: caller.userId, userId, transactionId, amountUsd: formatUsd(amount) }, 'an admin credited a user')
  return { transactionId, balanceUsd: formatUsd(balance) }
}

function toUser(user: UserAccount, clock: Clock): User {
  const { balance, blockedUntil, createdAt, email, held, id, isAdmin, limits, plan, suspendedAt, writtenOff } = user
  return {
    id,
    email,
    isAdmin,
    isSuspended: suspendedAt !== null,
    balanceUsd: formatUsd(balance),
    heldUsd: formatUsd(held),
    writtenOffUsd: formatUsd(writtenOff),
    plan,
    limits: toOwnLimits(limits),
    blockedUntil: blockedUntil !== null && blockedUntil > clock.now() ? isoTime(blockedUntil) : null,
    createdAt: isoTime(createdAt),
  }
}

function unknown(): ErrandError {
  return new ErrandError('NOT_FOUND', 'User not found')
}
