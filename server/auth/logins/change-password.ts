import type { z } from 'zod'
import { badField, ErrandError } from '../../kernel/errors.ts'
import { loginIdOf, type Caller } from '../../procedures/caller.ts'
import { admitAttempt, type Browser, type LoginAccess } from './log-in.ts'
import type { ChangePasswordInput } from './login-schema.ts'
import { assertNotObvious, hashPassword, isPassword, withHashRoom } from './passwords.ts'

/** Sets a new password and ends the user's other logins. Each attempt counts as a login attempt. */
export async function changePassword(
  parts: LoginAccess,
  { browser, caller, input }: { browser: Browser; caller: Caller; input: z.output<typeof ChangePasswordInput> },
) {
  const { logins, store } = parts
  const { email, userId } = caller
  const loginId = loginIdOf(caller)
  if (loginId === undefined)
    throw new ErrandError('FORBIDDEN', 'Changing the password requires a browser login. Log in first.')
  assertNotObvious('newPassword', { email, password: input.newPassword })
  const attempt = { email, client: logins.clients.of(browser.request) }
  const { from, passwordHash } = await withHashRoom(email, async (inTurn) => {
    const user = await admitAttempt(parts, {
      attempt,
      refusal: 'Too many wrong passwords were entered. Wait before you try again.',
    })
    const current = user?.passwordHash ?? null
    if (current === null) {
      throw new ErrandError('CONFLICT', 'This account does not have a password. Ask an admin for a link to set one.')
    }
    if (!(await inTurn(() => isPassword(input.currentPassword, current)))) {
      throw badField('currentPassword', 'Must be the current password')
    }
    return { from: current, passwordHash: await inTurn(() => hashPassword(input.newPassword)) }
  })
  if (!(await store.setPassword({ userId, passwordHash, from, keepLoginId: loginId, forget: attempt }))) {
    throw new ErrandError('CONFLICT', 'Another request changed the password. Try again with the new password.')
  }
  parts.log.info({ requestId: browser.about.requestId, userId }, 'a user changed the password')
  return { message: 'Password changed. All other logins of this account were ended.' }
}
