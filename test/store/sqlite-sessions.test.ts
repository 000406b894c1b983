import { rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { must } from '../../server/kernel/assert.ts'
import { describeFiles } from './contract-files.ts'
import { converse, describeSessions, draftSession } from './session-contract.ts'
import { newFolder, openIn, sqliteEngine, withRaw } from './sqlite-engine.ts'
import type { ContractTest } from './store-contract.ts'
import { noLimits, openWorld, StoreWorld } from './store-world.ts'
import { FakeClock } from '../support/fake-clock.ts'

const contractTest: ContractTest = (title, body, { limits = {} } = {}) => {
  test(`${sqliteEngine.name}: ${title}`, async () => {
    const world = await openWorld(sqliteEngine, { ...noLimits, ...limits })
    try {
      await body(world)
      expect(await world.verify()).toMatchObject({ ok: true, differences: [] })
    } finally {
      await world.close()
    }
  })
}

describeSessions(contractTest)
describeFiles(contractTest)

test('deletes the rows of a session and its messages but keeps turns and transactions', async () => {
  const dataDir = newFolder()
  const clock = new FakeClock()
  const world = new StoreWorld({
    clock,
    opened: openIn(dataDir, { clock: () => clock, limits: noLimits }),
    notBefore: () => 0,
  })
  const userId = await world.createUser()
  const sessions = []
  for (const text of ['delete me', 'keep me']) {
    const created = await world.store.createSession(draftSession(world, userId, { metadata: { text } }))
    if (created.outcome !== 'created') throw new Error(created.outcome)
    await converse(world, created.session, text)
    await converse(world, created.session, text)
    sessions.push(created.session)
  }
  const count = (table: string) => withRaw(dataDir, (raw) => raw.prepare(`SELECT count(*) FROM ${table}`).pluck().get())
  const counts = () => ['sessions', 'messages', 'turns', 'transactions'].map(count)
  expect(counts()).toEqual([2, 8, 4, 5])
  const { id: sessionId } = must(sessions[0], 'was created')
  expect(await world.store.deleteSession({ userId, sessionId })).toMatchObject({ outcome: 'deleted' })
  expect(counts()).toEqual([1, 4, 4, 5])
  const kept = withRaw(dataDir, (raw) => raw.prepare('SELECT DISTINCT session_id FROM messages').pluck().all())
  expect(kept).toEqual([sessions[1]!.id])
  expect(await world.verify()).toMatchObject({ ok: true })
  await world.close()
  rmSync(dataDir, { recursive: true, force: true })
})
