import { z } from 'zod'

// Field types that every operation shares.

export const usd = z
  .string()
  .regex(/^-?\d+\.\d{4}$/)
  .describe('Amount in USD with four fraction digits')

export const isoTimestamp = z.iso.datetime({ precision: 3 }).describe('ISO 8601 UTC timestamp with milliseconds')

export const resourceId = z.string().min(1).max(200)

export const pageInput = {
  limit: z.number().int().min(1).max(100).default(50).describe('Page size'),
  offset: z.number().int().min(0).max(1_000_000_000).default(0).describe('How many items to skip'),
}

export const pageOutput = { total: z.number().int(), limit: z.number().int(), offset: z.number().int() }
