import { z } from 'zod'
import { EraseInput } from '../../account/erase-account.ts'
import * as admin from '../../admin/manage-users.ts'
import { CreditUserInput, type User } from '../../admin/user-schema.ts'
import { Catalogue } from '../../agents/config/catalogue.ts'
import { resolvePayments } from '../../app/config.ts'
import { Email } from '../../auth/logins/login-schema.ts'
import { assertNotObvious, hashPassword, NewPassword } from '../../auth/logins/passwords.ts'
import { must } from '../../kernel/assert.ts'
import { ErrandError } from '../../kernel/errors.ts'
import { messageOf } from '../../kernel/thrown.ts'
import { UsageError } from '../../kernel/usage-error.ts'
import { openPayments } from '../../payments/open-payments.ts'
import { parseInput, type Common } from '../command-options.ts'
import { print } from '../open-store.ts'
import { findUserId, operator, withParts, type Parts } from './operator.ts'
import { readPassword, type PasswordOptions } from './password-input.ts'

type OfUser = Common & { user: string }

export async function createUser(options: Common & PasswordOptions & { email: string; admin?: boolean }) {
  const { email } = options
  if (!Email.safeParse(email).success) throw new UsageError(`--email: "${email}" must be an email address.`)
  const password = await readPassword(options)
  const passwordHash = password === undefined ? null : await hashChecked({ email, password })
  const user = await withParts({ ...options, mayCreate: true }, async (parts) => {
    const created = await parts.store.createUser({ email, passwordHash, isAdmin: options.admin === true })
    if (created.outcome === 'refused') {
      throw new ErrandError(
        'CONFLICT',
        `--email: a user with the email address ${email} already exists. Use a different address.`,
      )
    }
    return await admin.getUser(parts, { caller: operator, userId: created.userId })
  })
  print(options, user, `Created ${user.email} (${user.id}).`)
}

/** Sets a password and ends all browser sessions of the account. */
export async function setPassword(options: OfUser & PasswordOptions) {
  const user = await withParts(options, async (parts) => {
    const userId = await findUserId(parts, options)
    const { email, passwordHash: from } = must(await parts.store.getUser(userId), 'the user exists')
    const password = must(await readPassword({ password: true, ...options }), 'the command always reads a password')
    const passwordHash = await hashChecked({ email, password })
    if (!(await parts.store.setPassword({ userId, passwordHash, from, keepLoginId: null }))) {
      const message = 'Another request changed the password at the same time. Check the audit log before you try again.'
      throw new ErrandError('CONFLICT', message)
    }
    return await admin.getUser(parts, { caller: operator, userId })
  })
  print(options, user, `The password of ${user.email} is set. All browser logins of the account were ended.`)
}

async function hashChecked({ email, password }: { email: string; password: string }): Promise<string> {
  parseInput(z.object({ password: NewPassword }), { password })
  try {
    assertNotObvious('--password', { email, password })
  } catch (error) {
    throw new UsageError(messageOf(error))
  }
  return await hashPassword(password)
}

export async function showUser(options: OfUser): Promise<void> {
  const user = await change(options, (parts, userId) => admin.getUser(parts, { caller: operator, userId }))
  print(options, user, describeUser(user))
}

function describeUser(user: User): string {
  const limits = Object.entries(user.limits).map(([name, value]) => `${name} ${String(value)}`)
  const rows: [string, string | null][] = [
    ['id', user.id],
    ['email', user.email],
    ['external id', user.externalId],
    ['admin', user.isAdmin ? 'yes' : null],
    ['erased', user.erasedAt],
    ['suspended', user.isSuspended ? 'yes' : null],
    ['balance', `${user.balanceUsd} USD`],
    ['held', `${user.heldUsd} USD`],
    ['owed', `${user.owedUsd} USD`],
    ['written off', `${user.writtenOffUsd} USD`],
    ['plan', user.plan],
    ['limits', limits.join(', ') || null],
    ['blocked until', user.blockedUntil],
    ['connectors blocked until', user.connectorsBlockedUntil],
    ['created', user.createdAt],
  ]
  return rows.flatMap(([name, value]) => (value === null ? [] : `${name.padEnd(25)} ${value}`)).join('\n')
}

export const suspendUser = (options: OfUser): Promise<void> => setSuspended(options, true)
export const resumeUser = (options: OfUser): Promise<void> => setSuspended(options, false)

async function setSuspended(options: OfUser, isSuspended: boolean): Promise<void> {
  const catalogue = new Catalogue({ agents: [] }, null)
  const user = await change(options, (parts, userId) =>
    admin.updateUser({ ...parts, catalogue }, { caller: operator, input: { userId, isSuspended } }),
  )
  const said = isSuspended ? 'is suspended. All browser logins of the account were ended.' : 'is not suspended.'
  print(options, user, `${user.email} ${said}`)
}

export async function eraseUser(
  options: OfUser & { forfeitBalanceUsd?: string; leaveSavedMethod?: boolean },
): Promise<void> {
  const input = parseInput(EraseInput, options)
  const port = await openPayments(resolvePayments())
  const user = await change(options, async (parts, userId) => {
    const erased = await admin.eraseUser(
      { ...parts, ...(port && { port }) },
      { caller: operator, input: { ...input, userId } },
    )
    while (await parts.store.erasure.eraseMore(userId)) continue
    return erased
  })
  const left = user.leftMethod
  const remove = left
    ? `\nThe payment method ${left.methodId} of the customer ${left.customerId} is still saved at the payment provider. Remove it there.`
    : ''
  print(options, user, `${user.id} was erased.${remove}`)
}

export async function unblockUser(options: OfUser): Promise<void> {
  const user = await change(options, (parts, userId) =>
    admin.unblockUser(parts, { caller: operator, input: { userId } }),
  )
  print(options, user, `${user.email} is not blocked.`)
}

export async function creditUser(
  options: OfUser & { amountUsd: string; reason: string; idempotencyKey?: string },
): Promise<void> {
  const { idempotencyKey = null, user } = options
  const given = parseInput(CreditUserInput.omit({ userId: true }), options)
  const credited = await change(options, (parts, userId) =>
    admin.creditUser(parts, { caller: operator, idempotencyKey, input: { ...given, userId } }),
  )
  const { balanceUsd, transactionId } = credited
  print(options, credited, `The balance of ${user} is ${balanceUsd} USD (${transactionId}).`)
}

function change<Result>(options: OfUser, work: (parts: Parts, userId: string) => Promise<Result>): Promise<Result> {
  return withParts(options, async (parts) => await work(parts, await findUserId(parts, options)))
}
