import type { z } from 'zod'
import { clip } from './clip.ts'
import { ErrandError, type ErrorDetail } from './errors.ts'

const pathCharsMax = 300

/** Formats the path of a Zod issue as a client would write it, such as `params.rows[2].name`. */
export function issuePath(prefix: string, path: readonly PropertyKey[]): string {
  let text = prefix
  for (const key of path) {
    if (typeof key === 'number') text += `[${key}]`
    else text += text === '' ? String(key) : `.${String(key)}`
  }
  return clip(text, pathCharsMax)
}

const detailsMax = 20

/** Returns the `details` of a 400 body. An unknown key is reported at its own path. */
export function issueDetails(prefix: string, issues: readonly z.core.$ZodIssue[]): ErrorDetail[] {
  const details = issues
    .flatMap(ofAlternative)
    .flatMap((issue) =>
      issue.code === 'unrecognized_keys'
        ? issue.keys
            .slice(0, detailsMax)
            .map((key) => ({ path: issuePath(prefix, [...issue.path, key]), message: 'Unknown field. Remove it' }))
        : [{ path: issuePath(prefix, issue.path), message: issueMessage(issue) }],
    )
  return details.slice(0, detailsMax)
}

/**
 * If exactly one alternative of a union has the value's type, returns the issues of that alternative. Otherwise,
 * returns the issue of the union.
 */
function ofAlternative(issue: z.core.$ZodIssue): z.core.$ZodIssue[] {
  if (issue.code !== 'invalid_union') return [issue]
  const isOther = ({ code, path }: z.core.$ZodIssue) => code === 'invalid_type' && path.length === 0
  const [only, ...more] = issue.errors.filter((issues) => !issues.some(isOther))
  if (!only || more.length > 0) return [issue]
  return only.flatMap((inner) => ofAlternative({ ...inner, path: [...issue.path, ...inner.path] }))
}

const isZods = /^(?:Too (?:small|big): expected |Invalid (?:input|option): expected )/

/** Replaces Zod's default messages with messages in our style. */
export function issueMessage(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_format' && issue.message.startsWith('Invalid ') && issue.format in formatNames)
    return `Must be ${formatNames[issue.format]}`
  if (!isZods.test(issue.message)) return issue.message
  switch (issue.code) {
    case 'invalid_type':
      if (issue.message.endsWith('received undefined')) return 'Must be set'
      return issue.expected in typeNames ? `Must be ${typeNames[issue.expected]}` : issue.message
    case 'invalid_value':
      return `Must be ${issue.values.length === 1 ? '' : 'one of '}${issue.values.map(String).join(', ')}`
    case 'too_small':
      return sizeMessage(issue, issue.minimum, ['at least', 'more than']) ?? issue.message
    case 'too_big':
      return sizeMessage(issue, issue.maximum, ['at most', 'less than']) ?? issue.message
    default:
      return issue.message
  }
}

const formatNames: Record<string, string> = {
  date: 'a date such as 2026-01-31',
  email: 'an email address',
  url: 'a URL',
}

const typeNames: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
  record: 'an object',
}

const units: Record<string, string> = { string: 'character', array: 'item' }

type Size = { code: string; exact?: boolean; inclusive?: boolean; origin: string }

function sizeMessage(
  { code, exact = false, inclusive = true, origin }: Size,
  limit: number | bigint,
  [within, beyond]: [string, string],
): string | undefined {
  if (origin === 'number' || origin === 'int') return `Must be ${inclusive ? within : beyond} ${limit}`
  const unit = units[origin]
  if (unit === undefined) return undefined
  if (code === 'too_small' && limit === 1 && !exact) return 'Must not be empty'
  return `Must have ${exact ? 'exactly' : within} ${limit} ${unit}${limit === 1 ? '' : 's'}`
}

export function badInput(issues: readonly z.core.$ZodIssue[]): ErrandError {
  const details = issueDetails('', issues)
  const [first] = details
  const message = first?.path
    ? `${first.path}: ${first.message}`
    : (first?.message ?? 'The request is malformed. Check its body and parameters.')
  return new ErrandError('BAD_REQUEST', message, { details })
}

export function nearestOf(name: string, known: readonly string[]): string {
  const near = known.map((other) => ({ other, edits: editsBetween(name, other) }))
  return near.reduce((best, one) => (one.edits < best.edits ? one : best)).other
}

function editsBetween(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (let at = 1; at <= one.length; at++) {
    const next = [at]
    for (let to = 1; to <= other.length; to++) {
      const replaced = row[to - 1]! + (one[at - 1] === other[to - 1] ? 0 : 1)
      next.push(Math.min(replaced, row[to]! + 1, next[to - 1]! + 1))
    }
    row = next
  }
  return row.at(-1)!
}
