import { expect, test } from 'vitest'
import { ownTurn } from '../../server/kernel/own-turn.ts'

test('users get event-loop ticks in rotation, no matter how many ticks one of them waits for', async () => {
  const given: string[] = []
  let turn = 0
  const ended = Promise.withResolvers<void>()
  const count = () => void (turn++, given.length < 24 ? setImmediate(count) : ended.resolve())
  const take = async (owner: string | null) => {
    await ownTurn(owner)
    given.push(`${turn} ${owner}`)
  }
  setImmediate(count)
  const all = [...Array(20).fill('many'), 'one', null, 'one', null].map(take)
  await Promise.all([...all, ended.promise])
  expect(new Set(given.map((text) => text.split(' ')[0])).size).toBe(24)
  expect(given.slice(0, 6).map((text) => text.split(' ')[1])).toEqual(['many', 'one', 'null', 'many', 'one', 'null'])
})
