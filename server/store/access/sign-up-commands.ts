import { hash } from 'node:crypto'
import type { Units } from '../../kernel/money.ts'
import { postCredit } from '../accounts/stored-accounts.ts'
import { createUser, findUser } from '../accounts/stored-users.ts'
import type { Op, Tx } from '../commands/command.ts'
import { insertInto, statement } from '../commands/statement.ts'
import { mailAccountExists } from '../mails/mail-commands.ts'
import { insertInvitation } from './invitation-commands.ts'
import { admitTry } from './login-throttle.ts'
import { hashEmail } from './login-tries.ts'
import type { CreateUserResult, Newcomer, RequestSignUp, RequestSignUpResult } from './people-types.ts'

const dayMs = 86_400_000
const linksPerDay = 10
/** Setting that stores the current UTC day and the number of requests on that day. */
const requests = 'sign-up-requests'

const readRequests = statement<{ value: string }>(
  'sign_up_requests',
  `SELECT value FROM settings WHERE name = '${requests}'`,
)
const setRequests = statement(
  'sign_up_set_requests',
  `INSERT INTO settings (name, value) VALUES ('${requests}', :value)
    ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
)
const countLinks = statement<{ count: number }>(
  'sign_up_count_links',
  `SELECT count(*) AS count FROM invitations WHERE email = :email AND kind = 'sign-up' AND created_at > :since`,
)
const claimTrial = statement(
  'sign_up_claim_trial',
  `${insertInto('trial_credits', 'identityHash createdAt')} ON CONFLICT DO NOTHING`,
)

/**
 * Mails a sign-up link, or a note that the account already exists. Both count toward the same limits. Otherwise the
 * limits would reveal which addresses have accounts.
 */
export function* requestSignUp(tx: Tx, input: RequestSignUp): Op<RequestSignUpResult> {
  const { client, email, expiresAt, mail, perDayMax, tokenHash } = input
  yield* tx.lock('sign-ups')
  const now = yield* tx.now()
  const today = Math.floor(now / dayMs)
  const [day, count = 0] = ((yield* tx.get(readRequests))?.value ?? '').split(' ').map(Number)
  const before = day === today ? count : 0
  const attempt = { email: `sign-up: ${email}`, client: client && `sign-up: ${client}` }
  const until = perDayMax > 0 && before >= perDayMax ? (today + 1) * dayMs : yield* admitTry(tx, attempt)
  if (until !== undefined) return { outcome: 'refused', until }
  yield* tx.run(setRequests, { value: `${today} ${before + 1}` })
  const user = yield* findUser(tx, email)
  if (user) mailAccountExists(tx, { mailId: mail.mailId, userId: user.id, at: now })
  else if ((yield* tx.get(countLinks, { email: email.toLowerCase(), since: now - dayMs }))!.count < linksPerDay) {
    const link = { kind: 'sign-up', email, isAdmin: false, credit: 0, userId: null, createdBy: null } as const
    yield* insertInvitation(tx, { ...link, expiresAt, mail, tokenHash })
  }
  return { outcome: 'admitted' }
}

type CreateNewcomer = Newcomer & {
  email: string
  passwordHash: string | null
  identity?: { issuer: string; subject: string }
}

/**
 * Creates an account for a person with a verified email address, and posts the trial credit if it is their first
 * account.
 */
export function* createNewcomer(tx: Tx, input: CreateNewcomer): Op<CreateUserResult & { credit?: Units }> {
  const { credit, email, identity, passwordHash, plan } = input
  const created = yield* createUser(tx, { email, passwordHash, isAdmin: false, plan })
  if (created.outcome === 'refused' || credit === 0) return created
  const now = yield* tx.now()
  const ofProvider = identity && hash('sha256', JSON.stringify([identity.issuer, identity.subject]), 'hex')
  let isFirst = true
  for (const identityHash of [hashEmail(withoutTag(email)), ...(ofProvider ? [ofProvider] : [])]) {
    if ((yield* tx.run(claimTrial, { identityHash, createdAt: now })) === 0) isFirst = false
  }
  if (!isFirst) return created
  const { userId } = created
  yield* tx.lockAccount({ userId })
  yield* postCredit(tx, { userId, amount: credit, description: 'Trial credit', now })
  return { ...created, credit }
}

/**
 * Removes the tag from an email address, because mail to `ada+tag@example.com` usually arrives at `ada@example.com`.
 */
function withoutTag(email: string): string {
  return email.replace(/\+.*(?=@)/, '')
}
