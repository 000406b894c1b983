import { expect, test } from 'vitest'
import { createClient } from '../../client/client.ts'
import type { CallPromise } from '../../client/calls/call-promise.ts'
import { toListPromise, type PageInput } from '../../client/calls/list-pages.ts'
import { startService } from '../support/test-service.ts'
import { recordedFetch } from './recorded-fetch.ts'
import { rejection } from './rejection.ts'

type Item = { id: string }

/** Returns a list, newest first, that changes before each page is read. */
function listOf(items: string[], change: (page: number, items: string[]) => void = () => {}, bytesMax = Infinity) {
  const asked: PageInput[] = []
  const read = (input: PageInput) => {
    change(asked.length, items)
    asked.push(input)
    const { limit = 10, offset = 0 } = input
    const page = items.slice(offset, offset + Math.min(limit, bytesMax)).map((id) => ({ id }))
    return Promise.resolve({ things: page, total: items.length, limit, offset }) as CallPromise<{
      things: Item[]
      total: number
      limit: number
      offset: number
    }>
  }
  return { asked, list: (input: PageInput = {}) => toListPromise<Awaited<ReturnType<typeof read>>, Item>(input, read) }
}

async function idsOf(list: AsyncIterable<Item>): Promise<string[]> {
  const ids: string[] = []
  for await (const { id } of list) ids.push(id)
  return ids
}

const names = (count: number, prefix = 'item') => Array.from({ length: count }, (_, n) => `${prefix}-${n}`)

test('iterates over all pages, each item once', async () => {
  const { asked, list } = listOf(names(45))
  expect(await idsOf(list({ limit: 20 }))).toEqual(names(45))
  expect(asked.map(({ offset = 0 }) => offset)).toEqual([0, 19, 38])
  expect(await idsOf(list({ limit: 20, offset: 40 }))).toEqual(names(45).slice(40))
  expect(await idsOf(listOf([]).list())).toEqual([])
  expect(await idsOf(listOf(names(3)).list({ limit: 1 }))).toEqual(names(3))
})

test('items added at the front during paging cause no duplicates or gaps', async () => {
  for (const arriving of [1, 3, 19, 20, 60]) {
    const change = (page: number, items: string[]) =>
      void (page > 0 && page < 4 && items.unshift(...names(arriving, `new${page}`)))
    expect(await idsOf(listOf(names(30), change).list({ limit: 10 })), `${arriving}`).toEqual(names(30))
  }
})

test('items removed during paging cause no gaps among the remaining items', async () => {
  for (const going of [1, 3, 9, 10, 25]) {
    const change = (page: number, items: string[]) => void (page === 2 && items.splice(0, going))
    const seen = await idsOf(listOf(names(60), change).list({ limit: 10 }))
    expect(new Set(seen).size, `${going}`).toBe(seen.length)
    expect(seen.slice(0, 19)).toEqual(names(19))
    expect(seen, `${going}`).toEqual(names(60).filter((_, n) => n < 19 || n >= going))
  }
})

test('reads all pages if their size is limited in bytes, even to one item', async () => {
  expect(await idsOf(listOf(names(12), undefined, 1).list({ limit: 10 }))).toEqual(names(12))
  expect(await idsOf(listOf(names(12), undefined, 3).list({ limit: 10 }))).toEqual(names(12))
})

test('iterating lists all thirty tasks while more are created; await still returns one page', async () => {
  const service = await startService({ limits: { executionsPerMinute: 0 } })
  const { key } = await service.createPerson()
  const { fetch, sent } = recordedFetch()
  const client = createClient({ baseUrl: service.url, apiKey: key, fetch })
  const create = () => client.tasks.create({ endpointId: 'test.free', params: {} })
  const first = new Set((await Promise.all(Array.from({ length: 30 }, create))).map(({ taskId }) => taskId))
  const page = await client.tasks.list({ limit: 10 })
  expect([page.tasks.length, page.total, page.limit]).toEqual([10, 30, 10])
  sent.length = 0
  const seen: string[] = []
  for await (const { id } of client.tasks.list({ limit: 10 })) {
    if (seen.push(id) % 5 === 0) await create()
  }
  expect(seen.filter((id) => first.has(id)).length).toBe(30)
  expect(new Set(seen).size).toBe(seen.length)
  expect(sent.filter(({ init }) => init.method !== 'POST').length).toBeGreaterThanOrEqual(3)
  await service.stop()
})

test('break stops reading, errors are thrown while iterating, and an abort ends it', async () => {
  const service = await startService()
  const { key } = await service.createPerson()
  const { fetch, sent } = recordedFetch()
  const client = createClient({ baseUrl: service.url, apiKey: key, fetch })
  for await (const _ of client.agents.list({ limit: 1 })) break
  expect(sent).toHaveLength(1)
  const wrong = client.tasks.list({ limit: 101 })
  expect(await rejection(idsOf(wrong).then(() => {}))).toMatchObject({ code: 'BAD_REQUEST' })
  await expect(idsOf(client.tasks.list({}, { signal: AbortSignal.abort('enough') }))).rejects.toBe('enough')
  await service.stop()
})
