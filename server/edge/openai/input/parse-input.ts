import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { issueMessage, issuePath } from '../../../kernel/bad-input.ts'
import { badParam } from '../wire-error.ts'

export const ignored = z.unknown().optional()

/** Schema of a parameter that agents do not support. It accepts only values that request the default behavior. */
export function only(...values: unknown[]) {
  return z
    .unknown()
    .optional()
    .refine((value) => value === undefined || value === null || values.some((one) => isDeepStrictEqual(one, value)), {
      error:
        values.length === 0
          ? 'Must be omitted, because it is not supported'
          : `Must be ${values.map((one) => JSON.stringify(one)).join(' or ')} or omitted`,
      params: { code: 'unsupported_parameter' },
    })
}

export function parseInput<Schema extends z.ZodType>(schema: Schema, body: unknown): z.output<Schema> {
  const parsed = schema.safeParse(body)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  if (issue?.code === 'unrecognized_keys') {
    throw badParam(
      issuePath('', [...issue.path, issue.keys[0]!]),
      'Must be omitted, because it is an unknown parameter',
      'unknown_parameter',
    )
  }
  const code = issue?.code === 'custom' ? (issue.params as { code?: string } | undefined)?.code : undefined
  throw badParam(
    issuePath('', issue?.path ?? []),
    issue ? issueMessage(issue) : 'Must match the documented format',
    code,
  )
}
