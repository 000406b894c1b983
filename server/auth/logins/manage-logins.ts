import type { Page } from '../../store/list-place.ts'
import type { z } from 'zod'
import { isoTime } from '../../kernel/clock.ts'
import { ErrandError } from '../../kernel/errors.ts'
import { loginsMax } from '../../store/access/people-types.ts'
import { loginIdOf, type Caller } from '../../procedures/caller.ts'
import type { Browser, LoginAccess } from './log-in.ts'
import type { ListLoginsOutput } from './login-schema.ts'

/** Throws 403 if the caller used an API key. */
export async function logOut(
  { log, logins, store }: LoginAccess,
  { browser, caller }: { browser: Browser; caller: Caller },
) {
  const { userId } = caller
  const loginId = loginIdOf(caller)
  if (loginId === undefined)
    throw new ErrandError('FORBIDDEN', 'Only a browser login can log out. To stop using an API key, revoke it.')
  await store.endLogin({ userId, loginId })
  log.info({ requestId: browser.about.requestId, userId, loginId }, 'a user logged out')
  browser.setCookies.push(logins.cookie.remove())
  return { message: 'Logged out.' }
}

export async function logOutEverywhere(
  { log, logins, store }: LoginAccess,
  { browser, caller }: { browser: Browser; caller: Caller },
) {
  const { userId } = caller
  const ended = await store.endLogins(userId)
  log.info({ requestId: browser.about.requestId, userId, ended }, 'a user ended all logins')
  if (loginIdOf(caller) !== undefined) browser.setCookies.push(logins.cookie.remove())
  return { message: `Ended ${ended} ${ended === 1 ? 'login' : 'logins'}.` }
}

export async function listLogins(
  { store }: LoginAccess,
  { caller, limit, offset, userId }: Page & { caller: Caller; userId: string },
): Promise<z.output<typeof ListLoginsOutput>> {
  const { logins, total } = await store.listLogins({ userId, limit, offset })
  const { acts } = await store.audit.list({ userId, action: 'login.created', limit: loginsMax })
  const addresses = new Map(acts.map(({ change, client }) => [JSON.parse(change).loginId, client]))
  const shown = logins.map(({ createdAt, expiresAt, id, lastUsedAt, method, provider, userAgent }) => ({
    id,
    method,
    provider,
    userAgent,
    address: addresses.get(id) ?? null,
    createdAt: isoTime(createdAt),
    lastUsedAt: isoTime(lastUsedAt),
    expiresAt: isoTime(expiresAt),
    current: id === loginIdOf(caller),
  }))
  return { logins: shown, total, limit, offset }
}
