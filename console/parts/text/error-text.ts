import { ErrandClientError } from '../../../client/client.ts'
import { withUsdTexts } from './usd-text.ts'

/** The console's words for request fields that the service's messages name. */
const fieldTexts: readonly (readonly [RegExp, string])[] = [
  [/ \(maxCostUsd\)/g, ''],
  [/^maxCostUsd\b/, 'The cap'],
  [/\bmaxCostUsd\b/g, 'the cap'],
  [/\bbelowUsd\b/g, 'the threshold'],
]

/** Replaces the field names and amounts in one of the service's messages. */
export function messageText(message: string): string {
  return fieldTexts.reduce((text, [field, words]) => text.replace(field, words), withUsdTexts(message))
}

export function errorText(error: unknown): string {
  if (!(error instanceof ErrandClientError)) return error instanceof Error ? error.message : String(error)
  if (error.code === 'NETWORK_ERROR') return 'Could not reach the service. Check your connection and try again.'
  if (error.code === 'RATE_LIMIT_EXCEEDED' && error.retryAfterSeconds !== undefined) {
    return `${messageText(error.message)} Try again in ${waitText(error.retryAfterSeconds)}.`
  }
  return messageText(error.message)
}

export function waitText(seconds: number): string {
  if (seconds > 120) return `${Math.ceil(seconds / 60)} minutes`
  return seconds === 1 ? '1 second' : `${seconds} seconds`
}
