import { expect, test } from 'vitest'
import { sqliteEngine } from '../sqlite-engine.ts'
import { noLimits, openWorld } from '../store-world.ts'
import { WindowHistory } from '../window-history.ts'

// A long history of spend limits. The store contract runs shorter ones on every engine.

test('spend windows match the ledger after 100,000 operations across limits, refunds and days', async () => {
  const world = await openWorld(sqliteEngine, noLimits)
  const history = new WindowHistory(world, 2026)
  await history.run(100_000)
  const ways = ['admit accepted', 'admit limit', 'end', 'open opened', 'open limit', 'grow held', 'grow limit']
  for (const way of [...ways, 'settle', 'settle beyond', 'change', 'user'])
    expect(history.done[way], way).toBeGreaterThan(5)
  expect(await world.verify()).toMatchObject({ ok: true, differences: [] })
  await world.close()
}, 280_000)
