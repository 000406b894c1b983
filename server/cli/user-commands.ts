import { Email } from '../auth/logins/login-schema.ts'
import { assertNotObvious, hashPassword, NewPassword, passwordCharsMin } from '../auth/logins/passwords.ts'
import { isoTime, isoTimeOrNull } from '../kernel/clock.ts'
import { formatUsd } from '../kernel/money.ts'
import { UsageError } from '../kernel/usage-error.ts'
import { messageOf } from '../kernel/thrown.ts'
import type { UserAccount } from '../store/access/people-types.ts'
import type { Store } from '../store/store.ts'
import { findUserOrFail, print, withStore } from './open-store.ts'

type Common = { data?: string; json?: boolean }

export async function createUser(
  options: Common & { email: string; password?: string; admin?: boolean },
): Promise<void> {
  const { email, password } = options
  if (!Email.safeParse(email).success) throw new UsageError(`--email: "${email}" is not a valid email address.`)
  const passwordHash = password === undefined ? null : await hashChecked({ email, password })
  const result = await withStore({ ...options, mayCreate: true }, (store) =>
    store.createUser({ email, passwordHash, isAdmin: options.admin === true }),
  )
  if (result.outcome === 'refused') throw new Error(`A user with the email address ${email} already exists.`)
  print(options, { userId: result.userId, email: email.toLowerCase() }, `Created ${email} (${result.userId}).`)
}

/** Sets a password and ends all browser logins of the account. */
export async function setPassword(options: Common & { email: string; password: string }): Promise<void> {
  const { email, password } = options
  const passwordHash = await hashChecked({ email, password })
  const userId = await withStore(options, async (store) => {
    const { id } = await findUserOrFail(store, email)
    const user = await store.getUser(id)
    const from = user?.passwordHash ?? null
    if (!(await store.setPassword({ userId: id, passwordHash, from, keepLoginId: null }))) {
      throw new Error('The password was changed at the same time by someone else. Check this before you try again.')
    }
    return id
  })
  print(options, { userId }, `The password of ${email} is set. All browser logins of the account were ended.`)
}

async function hashChecked({ email, password }: { email: string; password: string }): Promise<string> {
  if (!NewPassword.safeParse(password).success) {
    throw new UsageError(`--password: must have at least ${passwordCharsMin} characters.`)
  }
  try {
    assertNotObvious('--password', { email, password })
  } catch (error) {
    throw new UsageError(messageOf(error))
  }
  return await hashPassword(password)
}

export async function listUsers(options: Common): Promise<void> {
  const users = await withStore(options, readUsers)
  const shown = users.map((user) => ({
    userId: user.id,
    email: user.email,
    isAdmin: user.isAdmin,
    balanceUsd: formatUsd(user.balance),
    heldUsd: formatUsd(user.held),
    blockedUntil: isoTimeOrNull(user.blockedUntil),
    isSuspended: user.suspendedAt !== null,
    createdAt: isoTime(user.createdAt),
  }))
  const lines = shown.map((user) => `${user.userId}  ${user.email}  ${user.balanceUsd} USD`)
  print(options, { users: shown }, lines.join('\n') || 'No users yet.')
}

async function readUsers(store: Store): Promise<UserAccount[]> {
  const read: UserAccount[] = []
  for (;;) {
    const { users, total } = await store.listUsers({ limit: 1000, offset: read.length })
    read.push(...users)
    if (read.length >= total || users.length === 0) return read
  }
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
      'unknown-user': `No user has the email address ${email}.`,
      'idempotency-conflict': '--idempotency-key: was already used with a different amount.',
      balance: '--usd: would take the balance below the amount held for running chats, or above 100 billion USD.',
      ceiling: 'The platform key has reached its daily credit limit.',
      'not-credited': 'No platform key credited that much.',
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
