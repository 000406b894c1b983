import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isId, newId, type IdPrefix } from '../../server/kernel/ids.ts'

const prefixes: IdPrefix[] = ['task', 'txn', 'user', 'key', 'pay', 'req', 'ses', 'msg', 'turn', 'run', 'con']
const times = fc.integer({ min: 0, max: 2 ** 48 })
/** Digits and letters, without the ambiguous letters. */
const form = /^[a-z]+_[0-9a-hjkmnp-tv-z]{26}$/

test('an id consists of its prefix, an underscore and 26 unambiguous characters', () => {
  fc.assert(
    fc.property(fc.constantFrom(...prefixes), times, (prefix, now) => {
      const id = newId(prefix, now)
      expect(id).toMatch(form)
      expect(id.startsWith(`${prefix}_`)).toBe(true)
      expect(isId(prefix, id)).toBe(true)
    }),
  )
})

test('ids of later milliseconds sort after those of earlier ones', () => {
  fc.assert(
    fc.property(times, times, (a, b) => {
      if (a === b) return
      const [first, second] = [newId('task', Math.min(a, b)), newId('task', Math.max(a, b))]
      expect(first < second).toBe(true)
      expect(first.slice(0, 15) < second.slice(0, 15)).toBe(true)
    }),
  )
})

test('ids of the same millisecond share only their timestamp characters', () => {
  const ids = Array.from({ length: 20_000 }, () => newId('task', 1_768_478_400_000))
  expect(new Set(ids).size).toBe(ids.length)
  expect(new Set(ids.map((id) => id.slice(0, 15))).size).toBe(1)
  for (let place = 15; place < 31; place++) expect(new Set(ids.map((id) => id[place])).size).toBe(32)
})

test('each id encodes its own time, not that of the previous id', () => {
  const [first, second, third] = [newId('task', 1000), newId('txn', 2000), newId('task', 1000)]
  expect(first.slice(5, 15)).toBe(third.slice(5, 15))
  expect(second.slice(4, 14)).not.toBe(first.slice(5, 15))
})

test('rejects malformed ids', () => {
  const id = newId('task', 1_768_478_400_000)
  const wrong = ['', 'task_', id.slice(0, -1), `${id}0`, `${id}\n`, ` ${id}`, id.toUpperCase(), id.replace('_', '-')]
  wrong.push(id.replace('task', 'tusk'), `${id.slice(0, -1)}.`, `${id.slice(0, -2)}é0`, `${id.slice(0, -1)}\0`)
  wrong.push(`task_${'../'.repeat(8)}ab`)
  expect(wrong.filter((text) => isId('task', text))).toEqual([])
  expect(isId('pay', id)).toBe(false)
  expect(isId('key', newId('pay', 0))).toBe(false)
})
