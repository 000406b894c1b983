import { z, type ZodType } from 'zod'

// Response fields. Their patterns are documented but not checked, because only our own functions produce the values.

export const usd = z
  .string()
  .meta({ pattern: String.raw`^-?\d+\.\d{4}$`, description: 'Amount in USD with four fraction digits' })

export const isoTimestamp = z
  .string()
  .meta({ format: 'date-time', description: 'ISO 8601 UTC timestamp with milliseconds' })

export const Confirmation = z.object({ message: z.string() }).meta({ id: 'Confirmation' })

export const maxCostUsd = z
  .string()
  .regex(/^\d{1,11}(?:\.\d{1,4})?$/, 'Must be a USD amount with at most four decimals')

/** A quote id with prices for 32 events, the maximum, has 4,000 characters. */
export const quoteId = z.string().min(1).max(5000)

/**
 * Accepts any JSON object. A record schema would visit every key, possibly a million of them, only to accept every
 * value.
 */
export const jsonObject = z
  .custom<Record<string, unknown>>(
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    'Must be an object',
  )
  .meta({ override: { type: 'object', additionalProperties: {} } })

export const resourceId = z.string().min(1).max(200)

const tagsMax = 16
const tagsBytesMax = 4096
const tagName = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/
// Excludes control characters and lone surrogates, which some databases reject.
const tagValue = /^[^\p{Cc}\p{Cs}]{1,256}$/u

const tagNameRule = 'Must have names of 1 to 64 letters, digits, `_`, `.` or `-` that start with a letter or digit'
const tagValueRule = 'Must be a string of 1 to 256 characters without control characters'

const tagValueSchema = {
  type: 'string' as const,
  minLength: 1,
  maxLength: 256,
  pattern: String.raw`^[^\u0000-\u001f\u007f-\u009f]+$`,
}

/** Schema of tags: name-value pairs that help users find their items. Errors name the invalid pair. */
function tagsSchema<Value extends string | null>(
  isValue: (value: unknown) => boolean,
  values: typeof tagValueSchema | { anyOf: [typeof tagValueSchema, { type: 'null' }] },
): ZodType<Record<string, Value>, Record<string, Value>> {
  const schema = z.any().superRefine((tags: unknown, ctx) => {
    if (typeof tags !== 'object' || tags === null || Array.isArray(tags)) {
      ctx.addIssue('Must be an object')
      return
    }
    const pairs = Object.entries(tags)
    if (pairs.length > tagsMax) {
      ctx.addIssue(tagsTooLarge)
      return
    }
    for (const [name, value] of pairs) {
      const path = [name.slice(0, 64)]
      if (!tagName.test(name)) ctx.addIssue({ code: 'custom', path, message: tagNameRule })
      else if (!isValue(value)) ctx.addIssue({ code: 'custom', path, message: tagValueRule })
    }
    if (!areSmallTags(tags as Record<string, unknown>)) ctx.addIssue(tagsTooLarge)
  })
  return schema.meta({
    override: {
      type: 'object',
      maxProperties: tagsMax,
      propertyNames: { pattern: tagName.source },
      additionalProperties: values,
    },
  })
}

const isTagValue = (value: unknown): value is string => typeof value === 'string' && tagValue.test(value)

export const tagsTooLarge = `Must have at most ${tagsMax} pairs and 4 KB of JSON`

export function areSmallTags(tags: Record<string, unknown>): boolean {
  const names = Object.keys(tags)
  // Fewer than three pairs are always below the byte limit.
  return names.length <= tagsMax && (names.length < 3 || Buffer.byteLength(JSON.stringify(tags)) <= tagsBytesMax)
}

export const tagsInput = tagsSchema<string>(isTagValue, tagValueSchema).describe(
  'Your own key-value pairs for filtering lists; at most 16 pairs and 4 KB of JSON',
)
export const tagChanges = tagsSchema<string | null>((value) => value === null || isTagValue(value), {
  anyOf: [tagValueSchema, { type: 'null' }],
}).describe('Merged by name; null removes a name')
export const tagsOutput = z.record(z.string(), z.string()).optional().describe('Omitted if there are none')

const tagPair = z
  .string()
  .max(64 + 1 + 2 * 256)
  .refine((pair) => {
    const colon = pair.indexOf(':')
    return colon > 0 && tagName.test(pair.slice(0, colon)) && tagValue.test(pair.slice(colon + 1))
  }, 'Must be a tag in the form name:value')
  .meta({ pattern: String.raw`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}:[^\u0000-\u001f\u007f-\u009f]+$` })

const isoDateTime = z.iso.datetime({ offset: true })
export const timeInput = z
  .string()
  .max(40)
  .refine((time) => isoDateTime.safeParse(time).success, 'Must be an ISO 8601 time such as 2026-01-31T12:00:00Z')
  .meta({ format: 'date-time' })

export const day = z.iso.date().meta({ format: 'date' })

/** Input fields of operations that cover a period. */
export const periodInput = {
  from: day.optional().describe('First UTC day; the period can have at most 1,100 days'),
  to: day.optional().describe('Last UTC day. Defaults to today; a later day counts as today'),
}

export const timeFilter = {
  createdAfter: timeInput.optional().describe('Returns only items created after this time'),
  createdBefore: timeInput.optional().describe('Returns only items created before this time'),
}
export const tagFilter = {
  tag: z
    .array(tagPair)
    .max(3)
    .optional()
    .describe('Returns only items with this tag, as `name:value`. If repeated, items must have all of the tags'),
}

export const pageInput = {
  limit: z.number().int().min(1).max(100).default(50).describe('Page size'),
  offset: z.number().int().min(0).max(1_000_000_000).default(0).describe('Number of items to skip'),
}

export const cursorInput = {
  ...pageInput,
  after: z.string().min(1).max(200).optional().describe('`next` from the previous page'),
}
export const cursorOutput = {
  next: z.string().optional().describe('Value to send as `after` to get the next page; omitted on the last page'),
}

export const pageOutput = { total: z.number().int(), limit: z.number().int(), offset: z.number().int() }
