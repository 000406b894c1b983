import { giveKey } from './access-steps.ts'
import { unitsOfUsd, usdOfUnits } from './chat-cost.ts'
import type { SimAnswer } from './sim-client.ts'
import { newPerson, type SimInvitation } from './sim-state.ts'
import type { SimWorld } from './sim-world.ts'

const lifeMs = 7 * 86_400_000
/** Maximum number of people. With more of them, fewer requests would hit the edges of time windows. */
export const peopleMax = 10
const creditsUsd = ['0', '0.0000', '0.0001', '1.5', '3.2500'] as const

/**
 * Adds money through invitations. A link creates one account and credits it once, no matter how often it is accepted.
 */
export async function invitationStep(world: SimWorld): Promise<number> {
  const { random, state } = world
  const open = state.invitations.filter((invitation) => isUsable(world, invitation))
  if (open.length === 0 || random.chance(0.3)) return await inviteStep(world)
  const invitation = random.chance(0.7) ? random.pick(open) : random.pick(state.invitations)
  if (random.chance(0.2) || state.people.length >= peopleMax) return await revokeInvitation(world, invitation)
  return await acceptInvitation(world, invitation)
}

function isUsable({ now }: SimWorld, { expiresAt, hasEnded }: SimInvitation): boolean {
  return !hasEnded && expiresAt > now
}

async function inviteStep(world: SimWorld): Promise<number> {
  const { checks, random, state } = world
  const known = random.chance(0.15)
  const email = known ? world.person().email : `invited-${random.between(1, 3)}-${world.seed}@example.com`
  const creditUsd = random.pick(creditsUsd)
  const isTaken = state.people.some((person) => person.email === email)
  const answer = await world.send({
    kind: 'invite',
    method: 'POST',
    path: '/api/invitations',
    credential: await world.adminCredential(),
    body: { email, creditUsd },
  })
  checks.same(answer.status, isTaken ? 409 : 200, `the status of an invitation of ${email}`)
  if (answer.status !== 200) return 1
  // The new link replaces any earlier link for the same address.
  for (const earlier of state.invitations) if (earlier.email === email) earlier.hasEnded = true
  const { id, url } = answer.body
  const token = String(url).split('#')[1]!
  const credit = unitsOfUsd(creditUsd)
  state.invitations.push({ id, token, email, credit, expiresAt: world.now + lifeMs, hasEnded: false })
  if (state.invitations.length > 20) state.invitations.shift()
  return 1
}

async function revokeInvitation(world: SimWorld, invitation: SimInvitation): Promise<number> {
  const { checks } = world
  const path = `/api/invitations/${invitation.id}`
  const credential = await world.adminCredential()
  const { status } = await world.send({ kind: 'revokeInvite', method: 'DELETE', path, credential })
  if (!invitation.hasEnded) checks.same(status, 200, `the status of the end of ${invitation.id}`)
  else checks.same(status, 404, `the status of the end of ${invitation.id}, which has ended`)
  invitation.hasEnded = true
  checks.same((await accept(world, invitation)).status, 404, `a link of the revoked ${invitation.id}`)
  return 2
}

function accept(world: SimWorld, { token }: SimInvitation): Promise<SimAnswer> {
  const headers = { Origin: world.origin, 'Sec-Fetch-Site': 'same-origin' }
  const body = { token, password: world.password }
  return world.send({ kind: 'accept', method: 'POST', path: '/api/invitations/accept', body, headers })
}

/** Accepts an invitation several times in parallel. Expects one account and one credit. */
export async function acceptInvitation(world: SimWorld, invitation: SimInvitation): Promise<number> {
  const { checks, random, state } = world
  const { credit, email, id } = invitation
  const count = random.between(1, 3)
  const isGood = isUsable(world, invitation)
  world.note(`${count} times ${id} of ${email} with ${usdOfUnits(credit)} is accepted at once: ${isGood}`)
  const answers = await Promise.all(Array.from({ length: count }, () => accept(world, invitation)))
  const accepted = answers.filter(({ status }) => status === 200)
  checks.same(accepted.length, isGood ? 1 : 0, `accounts that ${count} requests made by ${id}`)
  for (const { status } of answers) checks.that(status === 200 || status === 404, `a link got ${status}`)
  invitation.hasEnded = true
  if (!isGood) return count
  const [answer] = accepted as [SimAnswer]
  const { userId } = answer.body
  const token = /errand=([^;]+)/.exec(String(answer.headers['set-cookie']))?.[1] ?? ''
  const person = newPerson({ userId, email, password: world.password })
  person.logins.push({ token, createdAt: world.now, usedAt: world.now, hasEnded: false })
  if (credit > 0) world.model.askCredit(userId, credit)
  state.people.push(person)
  world.refresh()
  checks.same(person.balance, credit, `the balance of the invited ${userId}`)
  const credential = { kind: 'login', token } as const
  const account = await world.send({ kind: 'account', path: '/api/account', credential })
  checks.same(
    [account.status, account.body.userId, unitsOfUsd(account.body.balanceUsd)],
    [200, userId, credit],
    'the first request of an invited person',
  )
  await giveKey(world, person)
  return count + 1
}
