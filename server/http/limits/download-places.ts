import { ErrandError } from '../../kernel/errors.ts'

/** Each holds up to three megabytes, and with payloads in files a file, for as long as its reader takes little. */
const perUserMax = 24

const underWay = new Map<string, number>()

/** Takes the place of one download of a user's payloads and returns what gives it back, once; throws 503 without one. */
export function takeDownloadPlace(userId: string): () => void {
  const count = underWay.get(userId) ?? 0
  if (count >= perUserMax) {
    const message = `At most ${perUserMax} downloads of an account's payloads at a time are allowed.`
    throw new ErrandError('SERVICE_UNAVAILABLE', message, { retryAfterSeconds: 1 })
  }
  underWay.set(userId, count + 1)
  return () => {
    const left = underWay.get(userId)! - 1
    if (left > 0) underWay.set(userId, left)
    else underWay.delete(userId)
  }
}
