import { z } from 'zod'

// Field types that every operation shares.

// Of answers only, which our own functions write: the patterns are documented, and not matched again on every answer.

export const usd = z
  .string()
  .meta({ pattern: String.raw`^-?\d+\.\d{4}$`, description: 'Amount in USD with four fraction digits' })

export const isoTimestamp = z
  .string()
  .meta({ format: 'date-time', description: 'ISO 8601 UTC timestamp with milliseconds' })

/** The answer of an operation that leaves nothing to show. */
export const Confirmation = z.object({ message: z.string() }).meta({ id: 'Confirmation' })

// Of requests.

/** What is spent at most; read by `parseUsd`. */
export const maxCostUsd = z
  .string()
  .regex(/^\d{1,11}(?:\.\d{1,4})?$/, 'Must be a decimal of USD with at most four digits')

/** The longest that is made, of 32 events, has four fifths of that. */
export const quoteId = z.string().min(1).max(5000)

/** Any JSON object. A record schema would visit each of perhaps a million keys, to say of each that it may be anything. */
export const jsonObject = z
  .custom<Record<string, unknown>>(
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    'Must be an object',
  )
  .meta({ override: { type: 'object', additionalProperties: {} } })

export const resourceId = z.string().min(1).max(200)

export const pageInput = {
  limit: z.number().int().min(1).max(100).default(50).describe('Page size'),
  offset: z.number().int().min(0).max(1_000_000_000).default(0).describe('How many items to skip'),
}

export const pageOutput = { total: z.number().int(), limit: z.number().int(), offset: z.number().int() }
