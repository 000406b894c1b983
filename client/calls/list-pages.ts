import type { CallPromise } from './call-promise.ts'

export type PageInput = { limit?: number | undefined; offset?: number | undefined; after?: string | undefined }
/** `next` is of lists that go on by a cursor, and missing on the last page of them. */
export type PageHead = { total: number; limit: number; offset: number; next?: string | undefined }

/** What a page is a page of. */
export type ItemOf<Page> = {
  [Field in keyof Page]-?: Page[Field] extends readonly (infer Item)[] ? Item : never
}[keyof Page]

/**
 * One page when awaited; every item from there on with `for await`, page by page as they are asked for.
 *
 * @example
 * for await (const task of client.tasks.list({ status: 'failed' })) console.log(task.id)
 */
export type ListPromise<Page, Item> = CallPromise<Page> & AsyncIterable<Item>

/** How many items are remembered, by which a page is joined to the one before it. */
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
      // Read again where it is iterated again: it would be old.
      first = undefined
      // Who iterates gets a failure there.
      given?.catch(() => {})
      return items<Page, Item>(given, input, read)
    },
  })
}

/** Page by page: by the cursor where the list has one, under which items neither move nor come twice, else by offset. */
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
 * Pages go by offset, under which items move while others are added or removed. So each page begins with the last item
 * of the one before: what came in front is skipped by it. Where it is missing, the page is read from as much further down
 * as there are more items, or from further up when there are not, for then some have gone. Nothing comes twice, and nothing is left out that was there all the time.
 */
async function* itemsByOffset<Page extends PageHead, Item>(
  first: Page,
  input: PageInput,
  read: (input: PageInput) => CallPromise<Page>,
): AsyncGenerator<Item, void, undefined> {
  // A page of one item could not begin with the last one and go on.
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
      // Pages are bounded in bytes too: of large items, one may hold no more than the last that was seen.
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
