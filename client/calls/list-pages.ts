import type { CallPromise } from './call-promise.ts'

export type PageInput = { limit?: number | undefined; offset?: number | undefined; after?: string | undefined }
/** `next` is the cursor of lists that have one. It is missing on their last page. */
export type PageHead = { total: number; limit: number; offset: number; next?: string | undefined }

/** The item type of a page. */
export type ItemOf<Page> = {
  [Field in keyof Page]-?: Page[Field] extends readonly (infer Item)[] ? Item : never
}[keyof Page]

/**
 * Resolves with one page when awaited. `for await` yields every item from that page on and fetches pages as needed.
 *
 * @example
 * for await (const task of client.tasks.list({ status: 'failed' })) console.log(task.id)
 */
export type ListPromise<Page, Item> = CallPromise<Page> & AsyncIterable<Item>

/** Maximum number of remembered item ids, used to join a page to the previous one. */
const seenMax = 1000
const largestPage = 100

export function toListPromise<Page extends PageHead, Item>(
  input: PageInput,
  read: (input: PageInput) => CallPromise<Page>,
): ListPromise<Page, Item> {
  let first: CallPromise<Page> | undefined = read(input)
  return Object.assign(first, {
    [Symbol.asyncIterator]: () => {
      const given = first
      // A second iteration fetches the page again, because this one would be stale.
      first = undefined
      // The iterator reports the failure.
      given?.catch(() => {})
      return items<Page, Item>(given, input, read)
    },
  })
}

/**
 * Yields items page by page. Uses the cursor if the list has one, because items then neither move nor repeat; otherwise
 * the offset.
 */
async function* items<Page extends PageHead, Item>(
  given: CallPromise<Page> | undefined,
  input: PageInput,
  read: (input: PageInput) => CallPromise<Page>,
): AsyncGenerator<Item, void, undefined> {
  let page = await (given ?? read(input))
  if (page.next === undefined && input.after === undefined) return yield* itemsByOffset<Page, Item>(page, input, read)
  const { limit = largestPage, offset: _, ...filters } = input
  for (;;) {
    yield* itemsIn(page) as readonly Item[]
    if (page.next === undefined) return
    page = await read({ ...filters, limit, after: page.next })
  }
}

/**
 * Pages by offset, although items move when others are added or removed. Each page starts at the last item of the
 * previous one, so newly added items are skipped. If that item is missing, the page is read again at another offset.
 * The offset moves down by the number of added items. If none were added, some were removed, and it moves up by a page.
 * No item comes twice, and no item that existed all the time is left out.
 */
async function* itemsByOffset<Page extends PageHead, Item>(
  first: Page,
  input: PageInput,
  read: (input: PageInput) => CallPromise<Page>,
): AsyncGenerator<Item, void, undefined> {
  // A page of one item could hold only the overlapping item and would never advance.
  const limit = Math.max(2, input.limit ?? largestPage)
  const start = input.offset ?? 0
  const seen = new Set<string>()
  let offset = start
  let isJoined = false
  let page = first
  let { total } = page
  for (;;) {
    const found = itemsIn(page) as readonly Item[]
    const last = found.findLastIndex((item) => seen.has(idOf(item)))
    const arrived = page.total - total
    total = page.total
    if (last === -1 && isJoined && arrived > 0) {
      offset += arrived
    } else if (last === -1 && isJoined && offset > start) {
      offset = Math.max(start, offset - limit)
    } else {
      const added = found.slice(last + 1)
      for (const item of added) {
        remember(seen, idOf(item))
        yield item
      }
      if (offset + found.length >= page.total || found.length === 0) return
      // Pages also have a byte limit: with large items, a page may hold only the overlapping item.
      isJoined = added.length > 0
      offset += isJoined ? found.length - 1 : found.length
    }
    page = await read({ ...input, limit, offset })
  }
}

function itemsIn(page: object): readonly unknown[] {
  return (Object.values(page).find(Array.isArray) ?? []) as readonly unknown[]
}

function idOf(item: unknown): string {
  const { id } = item as { id?: unknown }
  return typeof id === 'string' ? id : JSON.stringify(item)
}

function remember(seen: Set<string>, id: string): void {
  seen.add(id)
  if (seen.size > seenMax) seen.delete(seen.values().next().value!)
}
