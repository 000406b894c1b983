import { expect, test } from 'vitest'
import { PartQueue } from '../../server/agents/run/part-queue.ts'

test('yields parts in order, then ends', async () => {
  const queue = new PartQueue<number>(() => {})
  queue.push(1)
  const later = Promise.resolve().then(() => {
    queue.push(2)
    queue.push(3)
    queue.end()
  })
  const read: number[] = []
  for await (const part of queue) read.push(part)
  await later
  expect(read).toEqual([1, 2, 3])
})

test('throws a failure unchanged after the parts before it', async () => {
  const queue = new PartQueue<number>(() => {})
  const failure = { no: 'error' }
  queue.push(1)
  queue.end({ thrown: failure })
  expect(await queue.next()).toEqual({ done: false, value: 1 })
  await expect(queue.next()).rejects.toBe(failure)
})

test('all writers waiting for room continue once all parts are read or the reader leaves', async () => {
  let left = 0
  const queue = new PartQueue<number>(() => (left += 1))
  const fill = () => {
    let count = 0
    for (; !queue.isFull; count++) queue.push(count)
    return count
  }
  const count = fill()
  const waiting = [queue.room(), queue.room()]
  for (let part = 0; part < count; part++) expect(await queue.next()).toEqual({ done: false, value: part })
  const next = queue.next()
  await Promise.all(waiting)
  queue.push(-1)
  expect(await next).toEqual({ done: false, value: -1 })
  fill()
  const more = [queue.room(), queue.room()]
  await queue.return()
  await Promise.all(more)
  expect(queue.isFull).toBe(false)
  expect(left).toBe(1)
})
