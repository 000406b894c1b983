import { assert } from './assert.ts'

/**
 * Money as an integer number of units of 0.0001 USD. Safe integers reach 900 billion USD. The API uses a decimal string
 * with exactly four fraction digits.
 */
export type Units = number

export const unitsPerUsd = 10_000
export const unitsPerCent = 100

const decimal = /^(-?)(\d{1,11})(?:\.(\d{1,4}))?$/

/**
 * Parses a decimal such as `25`, `0.01` or `-1.2500`, with at most four fraction digits. Returns undefined for any
 * other string.
 */
export function parseUsd(text: string): Units | undefined {
  const match = decimal.exec(text)
  if (!match) return undefined
  const [, sign, whole, fraction = ''] = match
  const units = Number(whole) * unitsPerUsd + Number(fraction.padEnd(4, '0'))
  return sign && units !== 0 ? -units : units
}

/** Formats an amount with exactly four fraction digits, such as `0.0100` or `-12.5000`. */
export function formatUsd(units: Units): string {
  assert(Number.isSafeInteger(units), 'money is a safe integer of units')
  const digits = String(Math.abs(units)).padStart(5, '0')
  return `${units < 0 ? '-' : ''}${digits.slice(0, -4)}.${digits.slice(-4)}`
}
