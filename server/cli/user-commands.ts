import { hash } from '@node-rs/argon2'
import { z } from 'zod'
import { isoTime } from '../kernel/clock.ts'
import { formatUsd } from '../kernel/money.ts'
import { UsageError } from '../kernel/usage-error.ts'
import { findUserOrFail, print, withStore } from './open-store.ts'

type Common = { data?: string; json?: boolean }

const passwordCharsMin = 10

export async function createUser(
  options: Common & { email: string; password?: string; admin?: boolean },
): Promise<void> {
  const { email, password } = options
  if (!z.email().max(254).safeParse(email).success) throw new UsageError(`--email: "${email}" is no email address.`)
  if (password !== undefined && password.length < passwordCharsMin) {
    throw new UsageError(`--password: must have at least ${passwordCharsMin} characters.`)
  }
  const passwordHash = password === undefined ? null : await hash(password)
  const result = await withStore({ ...options, mayCreate: true }, (store) =>
    store.createUser({ email, passwordHash, isAdmin: options.admin === true }),
  )
  if (result.outcome === 'refused') throw new Error(`A user with the email address ${email} exists already.`)
  print(options, { userId: result.userId, email: email.toLowerCase() }, `Created ${email} (${result.userId}).`)
}

export async function listUsers(options: Common): Promise<void> {
  const users = await withStore(options, (store) => store.listUsers())
  const shown = users.map((user) => ({
    userId: user.id,
    email: user.email,
    isAdmin: user.isAdmin,
    balanceUsd: formatUsd(user.balance),
    heldUsd: formatUsd(user.held),
    blockedUntil: user.blockedUntil === null ? null : isoTime(user.blockedUntil),
    createdAt: isoTime(user.createdAt),
  }))
  const lines = shown.map((user) => `${user.userId}  ${user.email}  ${user.balanceUsd} USD`)
  print(options, { users: shown }, lines.join('\n') || 'There are no users yet.')
}

export async function unblockUser(options: Common & { email: string }): Promise<void> {
  const { userId, wasBlocked } = await withStore(options, async (store) => {
    const user = await findUserOrFail(store, options.email)
    return { userId: user.id, wasBlocked: await store.unblock(user.id) }
  })
  print(
    options,
    { userId, wasBlocked },
    wasBlocked ? `${options.email} is unblocked.` : `${options.email} was not blocked.`,
  )
}

type CreditOptions = Common & { email: string; usd: number; reason: string; idempotencyKey?: string }

export async function credit(options: CreditOptions): Promise<void> {
  const { email, usd, reason, idempotencyKey } = options
  const { userId, result } = await withStore(options, async (store) => {
    const user = await findUserOrFail(store, email)
    const credited = await store.credit({
      userId: user.id,
      amount: usd,
      description: reason,
      idempotencyKey: idempotencyKey ?? null,
    })
    return { userId: user.id, result: credited }
  })
  if (result.outcome === 'refused') {
    const reasons = {
      'unknown-user': `There is no user with the email address ${email}.`,
      'idempotency-conflict': '--idempotency-key: was used with another amount.',
      balance: '--usd: would take the balance below what is held of it, or beyond 100 billion USD.',
    }
    throw new Error(reasons[result.reason])
  }
  const balanceUsd = formatUsd(result.balance)
  const { transactionId } = result
  print(
    options,
    { userId, transactionId, balanceUsd },
    `The balance of ${email} is ${balanceUsd} USD (${transactionId}).`,
  )
}
