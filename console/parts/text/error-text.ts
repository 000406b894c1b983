import { ErrandClientError } from '../../../client/client.ts'
import { withUsdTexts } from './usd-text.ts'

export function errorText(error: unknown): string {
  if (!(error instanceof ErrandClientError)) return error instanceof Error ? error.message : String(error)
  if (error.code === 'NETWORK_ERROR') return 'Could not reach the service. Check your connection and try again.'
  if (error.code === 'RATE_LIMIT_EXCEEDED' && error.retryAfterSeconds !== undefined) {
    return `${withUsdTexts(error.message)} Try again in ${waitText(error.retryAfterSeconds)}.`
  }
  return withUsdTexts(error.message)
}

export function waitText(seconds: number): string {
  if (seconds > 120) return `${Math.ceil(seconds / 60)} minutes`
  return seconds === 1 ? '1 second' : `${seconds} seconds`
}
