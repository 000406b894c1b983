import { createHash } from 'node:crypto'
import type { EpochMs } from '../kernel/clock.ts'
import { badField } from '../kernel/errors.ts'

// Where a page of a list begins. Lists are newest first, and within a millisecond in the order in which their items were made.

/** Of an item; the next page begins after it, whether it is still there or not. */
export type ListPlace = { createdAt: EpochMs; seq: number }

/** What a list is narrowed down to in time, and where its page begins; with `after` its offset is 0. */
export type ListRange = { createdAfter?: EpochMs; createdBefore?: EpochMs; after?: ListPlace }

export function isTimed({ createdAfter, createdBefore }: ListRange): boolean {
  return createdAfter !== undefined || createdBefore !== undefined
}

/** Of a page: how many items the whole list has, and where the next page begins, if there is one. */
export type Listed = { total: number; next?: ListPlace }

/** The list that a cursor belongs to: its name, the user, and what the list is filtered by. */
export type CursorList = { name: string; userId: string; filters: object }

type RangeInput = {
  after?: string | undefined
  createdAfter?: string | undefined
  createdBefore?: string | undefined
  limit: number
  offset: number
}

/** The range that an input asks for, and the list, for the cursor of the next page. Throws BAD_REQUEST that names `after`. */
export function readRange(
  name: string,
  userId: string,
  { after, limit: _, offset, ...filters }: RangeInput,
): { range: ListRange; list: CursorList } {
  const list = { name, userId, filters }
  const { createdAfter, createdBefore } = filters
  if (after !== undefined && offset > 0) throw badField('after', 'Must not be given beside an offset')
  const range = {
    ...(createdAfter !== undefined && { createdAfter: Date.parse(createdAfter) }),
    ...(createdBefore !== undefined && { createdBefore: Date.parse(createdBefore) }),
    ...(after !== undefined && { after: readCursor(after, list) }),
  }
  return { list, range }
}

/** For an answer: where the next page begins, if there is one. */
export function nextOf(next: ListPlace | undefined, list: CursorList): { next?: string } {
  return next ? { next: toCursor(next, list) } : {}
}

function toCursor({ createdAt, seq }: ListPlace, list: CursorList): string {
  const place = `${createdAt.toString(36)}-${seq.toString(36)}`
  return `${place}-${checkOf(place, list)}`
}

const form = /^(([0-9a-z]{1,10})-([0-9a-z]{1,10}))-([\w-]{12})$/

function readCursor(cursor: string, list: CursorList): ListPlace {
  const [, place = '', createdAt = '', seq = '', check] = form.exec(cursor) ?? []
  if (check !== checkOf(place, list)) {
    throw badField('after', 'Must be the `next` of a page of this list, with the same filters')
  }
  return { createdAt: Number.parseInt(createdAt, 36), seq: Number.parseInt(seq, 36) }
}

/** Tells what was mistaken for a cursor of the list; it is no secret, and a cursor reads nothing that its user may not. */
function checkOf(place: string, { filters, name, userId }: CursorList): string {
  const of = JSON.stringify([name, userId, filters, place])
  return createHash('sha256').update(of).digest('base64url').slice(0, 12)
}
