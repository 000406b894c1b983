import { newId } from '../../server/kernel/ids.ts'
import { newSecretToken } from '../../server/auth/logins/login-token.ts'
import { acceptInvitation, peopleMax } from './invitation-steps.ts'
import { simTrialCredit } from './sim-host.ts'
import type { SimWorld } from './sim-world.ts'

const lifeMs = 86_400_000

/**
 * Signs a person up. Each address gets the trial credit once, no matter how often it signs up, with which tag, and
 * after how many erasures.
 */
export async function signUpStep(world: SimWorld): Promise<number> {
  const { checks, random, state } = world
  if (state.people.length >= peopleMax) return 0
  const name = `newcomer-${random.between(1, 2)}`
  const email = `${name}${random.pick(['', '', '+tag'])}@example.com`
  const { token, tokenHash } = newSecretToken()
  const expiresAt = world.now + lifeMs
  const mail = { mailId: newId('mail', world.now), sealed: 'a link' }
  const request = { client: null, email, expiresAt, mail, perDayMax: 0, tokenHash }
  const isMade = await world.beside(async (store) => {
    await store.mails.requestSignUp(request)
    return (await store.findInvitation(tokenHash)) !== undefined
  })
  world.note(`sign-up of ${email}: ${isMade}`)
  const isTaken = state.people.some((person) => person.email === email)
  if (isTaken) checks.that(!isMade, `${email}, which has an account, gets no link`)
  const isFirst = !state.trials.has(name)
  const credit = isFirst ? simTrialCredit : 0
  if (isMade) state.trials.add(name)
  return await acceptInvitation(world, { id: email, token, email, credit, expiresAt, hasEnded: !isMade })
}
