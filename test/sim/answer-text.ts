import type { Checks } from './sim-checks.ts'
import type { SimState } from './sim-state.ts'

/** A whole API key. Errors show only the start of a rejected one. */
const wholeKey = /errand_sk_\w{16}/

type Answered = { kind: string; what: string; text: string; state: SimState }

/** Checks that an answer contains neither a key nor the email address of an erased person. */
export function checkText(checks: Checks, { kind, state, text, what }: Answered): void {
  // Only the response to the request that creates a key contains the key.
  if (kind !== 'key') checks.that(!wholeKey.test(text), `${what} was answered with a key`)
  // These requests may name an address that a new person can have.
  if (kind === 'accept' || kind === 'invite') return
  const { erased, people } = state
  const isFree = (email: string) => !people.some((person) => person.email === email)
  const gone = erased.find(({ email }) => text.includes(email) && isFree(email))
  checks.same(gone?.email, undefined, `the erased address in the answer to ${what}`)
}
