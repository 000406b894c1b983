import type { CallPromise } from './call-promise.ts'

export type PageInput = { limit?: number | undefined; offset?: number | undefined; after?: string | undefined }
/**
 * Paging fields of a list response. `next` is the cursor of the following page. It is missing on the last page, and in
 * lists without cursors.
 */
export type PageHead = { total: number; limit: number; offset: number; next?: string | undefined }

export type ItemOf<Page> = {
  [Field in keyof Page]-?: Page[Field] extends readonly (infer Item)[] ? Item : never
}[keyof Page]

/**
 * Resolves with one page when awaited. `for await` yields every item, starting with that page, and fetches further
 * pages as needed.
 *
 * @example
 * for await (const task of client.tasks.list({ status: 'failed' })) console.log(task.id)
 */
export type ListPromise<Page, Item> = CallPromise<Page> & AsyncIterable<Item>

/** Number of item ids to remember, in order to detect overlaps between pages. */
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
      // For a second iteration, fetch the page again, because `first` may be outdated by then.
      first = undefined
      // The iterator reports the failure, so prevent an unhandled rejection here.
      given?.catch(() => {})
      return items<Page, Item>(given, input, read)
    },
  })
}

/**
 * Yields items page by page. Uses the cursor if the list has one, because cursors neither skip nor repeat items.
 * Otherwise, uses the offset.
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
 * previous page and skips items that were already yielded. If a page contains none of these items, reads again at
 * another offset. If items were added, that offset is higher by their number. Otherwise, items must have been removed,
 * so it is one page lower. Never yields an item twice, and never skips an item that existed throughout.
 */
async function* itemsByOffset<Page extends PageHead, Item>(
  first: Page,
  input: PageInput,
  read: (input: PageInput) => CallPromise<Page>,
): AsyncGenerator<Item, void, undefined> {
  // With one item per page, a page could contain only the overlapping item, and paging would never advance.
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
      // Pages also have a byte limit, so with large items a page may contain only the overlapping item. The next page
      // then starts after that item.
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
