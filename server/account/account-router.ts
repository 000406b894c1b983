import { z } from 'zod'
import type { Catalogue } from '../agents/config/catalogue.ts'
import { changePassword } from '../auth/logins/change-password.ts'
import type { LoginAccess } from '../auth/logins/log-in.ts'
import { ChangePasswordInput } from '../auth/logins/login-schema.ts'
import { must } from '../kernel/assert.ts'
import { dateOf, futureTime, isoTime, isoTimeOrNull, periodDays, type Clock } from '../kernel/clock.ts'
import type { Caller } from '../procedures/caller.ts'
import { formatUsd } from '../kernel/money.ts'
import type { Store } from '../store/store.ts'
import { Confirmation } from '../kernel/wire-types.ts'
import type { PaymentParts } from '../payments/manage-topups.ts'
import { paymentAccountOf, updatePaymentAccount } from '../payments/payment-account.ts'
import { procedure, router, withScope, withWrite } from '../procedures/procedure.ts'
import { Account, Usage, UsageInput } from './account-schema.ts'
import { UpdateAccountInput } from '../payments/payment-account-schema.ts'
import { toLimits } from '../billing/limit-schema.ts'
import type { SpendStep } from '../store/accounts/account-types.ts'
import type { SpendSums } from './spend-sums.ts'
import { eraseAccount, EraseAccountInput } from './erase-account.ts'
import { readGroups } from './usage-groups.ts'
import { remainingOf, resetAt } from '../billing/rate-headers.ts'

export type AccountParts = {
  bodyBytesMax: number
  catalogue: Catalogue
  clock: Clock
  payments: PaymentParts
  people: LoginAccess
  spendDays: SpendSums
  spendHours: SpendSums
  store: Store
}

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const hoursDaysMax = 2

export const accountRouter = (parts: AccountParts) =>
  router({
    get: procedure
      .meta({
        openapi: {
          method: 'GET',
          path: '/api/account',
          operationId: 'getAccount',
          tags: ['Billing'],
          summary: "Get the caller's account",
          description:
            'Includes the amount held for turns in progress, the end of any block of the account, and the remaining rate limit.',
          protect: true,
          successDescription: 'The account with its balance.',
          errorResponses: {},
        },
      })
      .input(z.object({}).optional())
      .output(Account)
      .query(withScope('read', ({ ctx }) => readAccount(parts, ctx.caller), 'account')),

    update: procedure
      .meta({
        openapi: {
          method: 'PATCH',
          path: '/api/account',
          operationId: 'updateAccount',
          tags: ['Billing'],
          summary: 'Change the low balance notification and auto-recharge',
          description:
            'Omitted fields stay unchanged. After the threshold changes, `balance.low` can be sent again. `autoRecharge` charges a saved payment method, so turning it on requires a browser login, or a platform key with the `pay` scope that acts on behalf of the user. An API key with the `manage` scope can turn it off.',
          protect: true,
          successDescription: 'The updated account.',
          errorResponses: {
            400: 'The body is invalid.',
            403: 'The caller lacks permission, or turned on `autoRecharge` with an API key.',
            404: 'The service does not accept payments, so auto-recharge is not available.',
            409: 'No payment method is saved.',
            413: 'The body is too large.',
            415: 'The body is not JSON.',
          },
        },
      })
      .input(UpdateAccountInput)
      .output(Account)
      .mutation(
        withWrite(['manage', 'pay'], async ({ ctx, input }) => {
          await updatePaymentAccount(parts.payments, { caller: ctx.caller, input })
          return await readAccount(parts, ctx.caller)
        }),
      ),

    usage: procedure
      .meta({
        isTable: true,
        openapi: {
          method: 'GET',
          path: '/api/usage',
          operationId: 'getUsage',
          tags: ['Billing'],
          summary: 'Get the daily spending of the account',
          description:
            'Lists the days from `from` to `to`, or the last `days` days, oldest first. Includes days without executions. For periods of one or two days, also lists each hour. With `Accept: text/csv`, returns the days or groups as CSV.',
          protect: true,
          successDescription: 'One entry per UTC day.',
          errorResponses: { 400: 'A parameter is invalid.' },
        },
      })
      .input(UsageInput)
      .output(Usage)
      .query(
        withScope('read', async ({ ctx, input }) => {
          const { userId } = ctx.caller
          const now = parts.clock.now()
          const { fromDay, toDay } = periodDays(input, now)
          const days = await parts.spendDays.read(userId, { from: fromDay, to: toDay - 1 })
          const lastHour = Math.min(toDay * 24 - 1, Math.floor(now / hourMs))
          const hours =
            toDay - fromDay <= hoursDaysMax &&
            (await parts.spendHours.read(userId, { from: fromDay * 24, to: lastHour }))
          const reserved = await parts.store.books.readReserved({
            userId,
            since: fromDay * dayMs,
            until: toDay * dayMs,
          })
          const reservedIn = (hours: number) => {
            const sums = new Map<number, number>()
            for (const { hour, reserved: units } of reserved) {
              const step = Math.floor(hour / hours)
              sums.set(step, (sums.get(step) ?? 0) + units)
            }
            return sums
          }
          const [byDay, byHour] = [reservedIn(24), reservedIn(1)]
          const { groupBy } = input
          return {
            days: days.map((day) => ({ date: dateOf(day.step), ...spendOf(day, byDay) })),
            ...(hours && {
              hours: hours.map((hour) => ({ start: isoTime(hour.step * hourMs), ...spendOf(hour, byHour) })),
            }),
            ...(groupBy && (await readGroups(parts.store, { userId, groupBy, fromDay, toDay }))),
          }
        }),
      ),

    changePassword: procedure
      .meta({
        openapi: {
          method: 'POST',
          path: '/api/account/password',
          operationId: 'changePassword',
          tags: ['Browser login'],
          summary: 'Change the password of the account',
          description:
            'Requires a browser login, which stays valid. Ends all other logins of the account. API keys stay valid.',
          protect: true,
          successDescription: 'The password was changed.',
          errorResponses: {
            400: 'The body is invalid, or the current password is wrong.',
            403: 'The caller does not have a browser login.',
            409: 'The account does not have a password.',
            413: 'The body is too large.',
            415: 'The body is not JSON.',
            429: 'The caller sent too many wrong passwords.',
          },
        },
      })
      .input(ChangePasswordInput)
      .output(Confirmation)
      .mutation(
        withScope('manage', ({ ctx, input }) =>
          changePassword(parts.people, { browser: ctx, caller: ctx.caller, input }),
        ),
      ),

    erase: procedure
      .meta({
        openapi: {
          method: 'POST',
          path: '/api/account/erase',
          operationId: 'eraseAccount',
          tags: ['Browser login'],
          summary: 'Erase the account',
          description:
            'Requires a browser login. Ends all access immediately and cannot be undone. The contents of tasks and chats are deleted within minutes. Transactions remain, without a name. A saved payment method is removed at the payment provider first. If that fails, the response is 503 and nothing is erased.',
          protect: true,
          successDescription: 'The account was erased.',
          errorResponses: {
            400: 'The body is invalid, or the password is wrong.',
            403: 'The caller does not have a browser login.',
            409: 'The account has work in progress, a debt, an unpaid top-up, a disputed payment or a balance that `forfeitBalanceUsd` does not match, or it is the last active admin.',
            413: 'The body is too large.',
            415: 'The body is not JSON.',
            429: 'The caller sent too many wrong passwords.',
          },
        },
      })
      .input(EraseAccountInput)
      .output(Confirmation)
      .mutation(
        withScope('manage', ({ ctx, input }) =>
          eraseAccount({ ...parts.people, port: parts.payments.port }, { browser: ctx, caller: ctx.caller, input }),
        ),
      ),
  })

async function readAccount(parts: AccountParts, caller: Caller): Promise<Account> {
  const { bodyBytesMax, catalogue, clock, payments, store } = parts
  const account = must(await store.getUser(caller.userId), 'an authenticated user has an account')
  const {
    balance,
    blockedUntil,
    connectorsBlockedUntil,
    createdAt,
    email,
    held,
    isAdmin,
    notifyBelow,
    owed,
    passwordHash,
    userId,
  } = account
  const rate = await store.readRate(caller)
  return {
    userId,
    email,
    balanceUsd: formatUsd(balance),
    heldUsd: formatUsd(held),
    owedUsd: formatUsd(owed),
    notifyBelowUsd: notifyBelow === null ? null : formatUsd(notifyBelow),
    blockedUntil: futureTime(blockedUntil, clock),
    connectorsBlockedUntil: futureTime(connectorsBlockedUntil, clock),
    isAdmin,
    hasPassword: passwordHash !== null,
    createdAt: isoTime(createdAt),
    rateLimit: {
      limit: rate.limit,
      remaining: remainingOf(rate),
      resetAt: rate.oldestAt === null ? null : isoTime(resetAt(rate)),
    },
    payments: await paymentAccountOf(payments, userId),
    limits: toLimits(must(await store.readLimits(userId), 'a user has limits'), catalogue.plans),
    credential: await credentialLimits(store, caller),
    maxBodyBytes: bodyBytesMax,
  }
}

async function credentialLimits(store: Store, { agents, limits }: Caller): Promise<Account['credential']> {
  if (!limits && !agents) return null
  const [spend] = limits?.spend ? await store.spendStates([limits.spend]) : []
  return {
    limitUsd: spend ? formatUsd(spend.amount) : null,
    usedUsd: spend ? formatUsd(spend.charged + spend.held) : null,
    resetsAt: isoTimeOrNull(spend?.resetsAt ?? null),
    executionsPerMinute: limits?.rate?.perMinute ?? null,
    agents: agents && [...agents],
  }
}

function spendOf({ charged, executions, failures, refunded, step }: SpendStep, reserved: ReadonlyMap<number, number>) {
  // A task that was created after the charges were read is reserved, but not among the charges.
  const reservedUsd = formatUsd(Math.min(charged, reserved.get(step) ?? 0))
  return { spentUsd: formatUsd(charged), refundedUsd: formatUsd(refunded), reservedUsd, executions, failures }
}
