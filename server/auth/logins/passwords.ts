import { hash, verify } from '@node-rs/argon2'
import { z } from 'zod'
import { badField, ErrandError } from '../../kernel/errors.ts'
import { FairPlaces } from '../../kernel/fair-places.ts'

export const passwordCharsMin = 10
const passwordCharsMax = 200

/** Only the length is checked, because rules about characters make passwords harder to remember. */
export const NewPassword = z
  .string()
  .min(passwordCharsMin, `Must have at least ${passwordCharsMin} characters`)
  .max(passwordCharsMax, `Must have at most ${passwordCharsMax} characters`)
  .meta({ format: 'password' })
/** A password typed at login. Accepts every password that any version of the service has allowed. */
export const TypedPassword = z.string().min(1, 'Must not be empty').max(1024).meta({ format: 'password' })

/** Dummy hash, so that rejecting an unknown email address takes as long as rejecting a wrong password. */
const nobodysHash = '$argon2id$v=19$m=19456,t=2,p=1$Mi6SpFH27e0b98ek7COc0Q$Ut9KjCRw889zxM0adlmSMly5nQy7qJDLY4hblA+uar4'

/**
 * Slots for hashing, shared fairly between email addresses. A hash needs 19 MiB and tens of milliseconds of CPU time,
 * so more concurrent hashes would only slow each other down.
 */
const hashes = new FairPlaces({ total: 2, perUser: 1 })
/** Limits how many requests can hash or wait for a hashing slot, in total and per email address. */
const requests = new FairPlaces({ total: 102 })

/** Runs one hash as soon as a slot is free. Email addresses take turns. */
type InTurn = <Result>(work: () => Promise<Result>) => Promise<Result>

/**
 * Runs `work`, which hashes passwords for one email address through `inTurn`. Throws 503 if too many requests are
 * hashing or waiting. Record login attempts inside `work`, so that unauthenticated clients cannot insert rows faster
 * than passwords are hashed.
 */
export async function withHashRoom<T>(email: string, work: (inTurn: InTurn) => Promise<T>): Promise<T> {
  const place = requests.open(email.toLowerCase())
  if (place.hold(1)) {
    throw new ErrandError(
      'SERVICE_UNAVAILABLE',
      'The service is busy checking passwords. Try again in a few seconds.',
      {
        retryAfterSeconds: 5,
      },
    )
  }
  try {
    return await work((hashing) => hashes.within(email.toLowerCase(), undefined, hashing))
  } finally {
    place.release()
  }
}

/** Hashes with Argon2id, 19 MiB and two passes, as OWASP recommends. */
export async function hashPassword(password: string): Promise<string> {
  return await hash(normal(password))
}

/** `passwordHash` is null if the user is unknown or has no password. */
export async function isPassword(password: string, passwordHash: string | null): Promise<boolean> {
  const fits = await verify(passwordHash ?? nobodysHash, normal(password))
  return fits && passwordHash !== null
}

/** Throws 400 for an easily guessed password. */
export function assertNotObvious(path: string, { email, password }: { email: string; password: string }): void {
  const name = email.split('@')[0]!
  const rest = password.toLowerCase().replaceAll(email.toLowerCase(), '').replaceAll(name.toLowerCase(), '')
  if (new Set(rest).size >= 4) return
  throw badField(path, 'Must have at least four different characters after the email address is removed')
}

/** Unicode can encode the same letter in several ways, so normalize the password. */
function normal(password: string): string {
  return password.normalize('NFKC')
}
