import { createHash } from 'node:crypto'
import type { EpochMs } from '../kernel/clock.ts'
import { badField } from '../kernel/errors.ts'

export type Page = { limit: number; offset: number }

/**
 * A page that is limited by size as well as by item count. It ends before its size would exceed `bytesMax`
 * (`pageBytesMax` by default), but always includes the first item.
 */
export type BoundedPage = Page & { bytesMax?: number }

// Cursors for list pages. Lists are sorted newest first. `seq` orders items that were created in the same millisecond.

/** Position in a list. It remains valid after the item at that position is deleted. */
export type ListPlace = { createdAt: EpochMs; seq: number }

/** Time filter of a list. If `after` is set, the page starts after that position, and the offset is 0. */
export type ListRange = { createdAfter?: EpochMs; createdBefore?: EpochMs; after?: ListPlace }

export function isTimed({ createdAfter, createdBefore }: ListRange): boolean {
  return createdAfter !== undefined || createdBefore !== undefined
}

/** Total number of items in a list. If there is another page, it starts after `next`. */
export type Listed = { total: number; next?: ListPlace }

export type CursorList = { name: string; userId: string; filters: object }

type RangeInput = {
  after?: string | undefined
  createdAfter?: string | undefined
  createdBefore?: string | undefined
  limit: number
  offset: number
}

/** Parses the paging parameters of a request. Throws BAD_REQUEST if `after` is not a cursor of this list. */
export function readRange(
  name: string,
  userId: string,
  { after, limit: _, offset, ...filters }: RangeInput,
): { range: ListRange; list: CursorList } {
  const list = { name, userId, filters }
  const { createdAfter, createdBefore } = filters
  if (after !== undefined && offset > 0) throw badField('after', 'Must be omitted if offset is set')
  const range = {
    ...(createdAfter !== undefined && { createdAfter: Date.parse(createdAfter) }),
    ...(createdBefore !== undefined && { createdBefore: Date.parse(createdBefore) }),
    ...(after !== undefined && { after: readCursor(after, list) }),
  }
  return { list, range }
}

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
    throw badField('after', 'Must be the `next` value from a page of this list with the same filters')
  }
  return { createdAt: Number.parseInt(createdAt, 36), seq: Number.parseInt(seq, 36) }
}

/**
 * Checksum that detects cursors of other lists. It needs no secret, because a cursor gives no access to other users'
 * data.
 */
function checkOf(place: string, { filters, name, userId }: CursorList): string {
  const of = JSON.stringify([name, userId, filters, place])
  return createHash('sha256').update(of).digest('base64url').slice(0, 12)
}
