import { z } from 'zod'
import { admitAttempt, type Browser, type LoginAccess } from '../auth/logins/log-in.ts'
import { isPassword, TypedPassword, withHashRoom } from '../auth/logins/passwords.ts'
import { badField, ErrandError } from '../kernel/errors.ts'
import type { Logger } from '../kernel/logger.ts'
import { formatUsd, parseUsd } from '../kernel/money.ts'
import { maxCostUsd } from '../kernel/wire-types.ts'
import type { PaymentParts } from '../payments/manage-topups.ts'
import { loginIdOf, type Caller } from '../procedures/caller.ts'
import type { EraseUserResult, LeftMethod } from '../store/erasure/erasure-types.ts'
import type { Store } from '../store/store.ts'

const forfeitBalanceUsd = maxCostUsd
  .default('0')
  .describe('Must equal the balance, which is written off. Omit it if the balance is zero')

export const EraseInput = z.object({
  forfeitBalanceUsd,
  leaveSavedMethod: z
    .boolean()
    .default(false)
    .describe(
      'If true, erases the user even if the payment provider does not remove the saved payment method. You must then remove it there. Only for admins',
    ),
})
export const EraseAccountInput = z.object({
  password: TypedPassword.optional().describe('The password; omit it if the account has none'),
  forfeitBalanceUsd,
})

type ErasureParts = { store: Store; log: Logger; port?: PaymentParts['port'] }
type EraseUser = { userId: string; forfeitBalanceUsd: string; withoutAdmins?: boolean; leaveSavedMethod?: boolean }

/**
 * Number of erasure steps to run within the request. They suffice for a small account. For a larger one, upkeep runs
 * the remaining steps.
 */
const stepsAtOnce = 5

/** Returns the payment method that remains at the payment provider. Idempotent. */
export async function eraseUser(parts: ErasureParts, input: EraseUser): Promise<LeftMethod | null> {
  const { store } = parts
  const { forfeitBalanceUsd: given, leaveSavedMethod = false, ...of } = input
  const forfeit = parseUsd(given)!
  let erased = await store.erasure.erase({ ...of, forfeit })
  while (erased.outcome === 'refused' && erased.reason === 'saved-method') {
    const { methodId } = erased
    const failure = await removeMethod(parts, { userId: of.userId, methodId })
    if (failure && !leaveSavedMethod) throw failure
    erased = await store.erasure.erase({ ...of, forfeit, ...(failure && { leaveMethodId: methodId }) })
  }
  if (erased.outcome === 'refused') throw refusalOf(erased)
  for (let step = 0; step < stepsAtOnce && (await store.erasure.eraseMore(of.userId)); step++) continue
  return erased.outcome === 'erased' ? erased.leftMethod : null
}

/**
 * Removes the payment method at the provider before the erasure, so that a crash cannot leave it there after the user
 * is erased. Returns an error if the provider did not remove it. Auto-recharge stays off even then.
 */
async function removeMethod(
  { port, store }: ErasureParts,
  of: { userId: string; methodId: string },
): Promise<ErrandError | undefined> {
  const { methodId, userId } = of
  await store.payments.setRecharge({ userId, recharge: null })
  if (!port) {
    return conflict(
      `A payment method is saved at the payment provider, but payments are not configured. Set ERRAND_STRIPE_SECRET_KEY and ERRAND_STRIPE_WEBHOOK_SECRET. ${orLeave}`,
    )
  }
  const removed = await port.removeMethod(methodId).catch((cause: unknown) => ({ cause }))
  if (removed !== true) {
    const message = `Could not remove the saved payment method at the payment provider. Nothing was erased. Try again later. ${orLeave}`
    return new ErrandError('SERVICE_UNAVAILABLE', message, { ...removed, retryAfterSeconds: 60 })
  }
  await store.payments.forgetMethod(of)
  return undefined
}

const orLeave = 'If it can never be removed, an admin can erase the user with leaveSavedMethod.'

type Refusal = Exclude<Extract<EraseUserResult, { outcome: 'refused' }>, { reason: 'saved-method' }>

function refusalOf(refused: Refusal): ErrandError {
  switch (refused.reason) {
    case 'unknown':
      return new ErrandError('NOT_FOUND', 'User not found. Check the id.')
    case 'last-admin':
      return conflict('This is the last active admin. Make another user an admin first.')
    case 'open-work':
      return conflict('The account has tasks or chats in progress. Cancel them or wait until they have ended.')
    case 'debt':
      return conflict(`The account owes ${formatUsd(refused.amount)} USD. Pay it with a top-up first.`)
    case 'open-topup':
      return conflict('The account has an unpaid top-up. Pay it or wait until it has expired.')
    case 'dispute':
      return conflict('A payment of the account is disputed. Retry when the dispute has ended.')
    case 'balance': {
      const amount = formatUsd(refused.amount)
      return conflict(
        `The account has ${amount} USD left. Set forfeitBalanceUsd to "${amount}" to give it up, or spend it first.`,
      )
    }
  }
}

function conflict(message: string): ErrandError {
  return new ErrandError('CONFLICT', message)
}

type EraseAccount = { browser: Browser; caller: Caller; input: z.output<typeof EraseAccountInput> }

/** Erases the caller's own account. Each attempt with a password counts as a login attempt. */
export async function eraseAccount(
  parts: LoginAccess & ErasureParts,
  { browser, caller, input }: EraseAccount,
): Promise<{ message: string }> {
  const { email, userId } = caller
  if (loginIdOf(caller) === undefined) {
    throw new ErrandError('FORBIDDEN', 'Erasing the account requires a browser login. Log in first.')
  }
  await assertPassword(parts, { browser, email, password: input.password ?? '' })
  await eraseUser(parts, { userId, forfeitBalanceUsd: input.forfeitBalanceUsd })
  parts.log.info({ requestId: browser.about.requestId, userId }, 'a user erased the account')
  return { message: 'The account was erased. Its contents are deleted within minutes.' }
}

async function assertPassword(
  parts: LoginAccess,
  { browser, email, password }: { browser: Browser; email: string; password: string },
): Promise<void> {
  const attempt = { email, client: parts.logins.clients.of(browser.request) }
  await withHashRoom(email, async (inTurn) => {
    const user = await admitAttempt(parts, {
      attempt,
      refusal: 'Too many wrong passwords were entered. Wait before you try again.',
    })
    const hash = user?.passwordHash ?? null
    if (hash !== null && !(await inTurn(() => isPassword(password, hash)))) {
      throw badField('password', 'Must be the current password')
    }
  })
}
