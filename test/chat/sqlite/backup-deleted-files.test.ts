import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { copyPayloads } from '../../../server/cli/backups/backup-payloads.ts'
import { payloadFile } from '../../../server/payloads/file-payload-store.ts'
import { fileAgents } from '../../support/file-agents.ts'
import { filePartOf, png } from '../../support/sample-files.ts'
import { startService } from '../../support/test-service.ts'
import { Talker } from '../chat-checks.ts'

test('reports files deleted after the database copy, and still copies those whose rows alone are gone', async () => {
  const service = await startService({ config: fileAgents('http://127.0.0.1:9'), limits: { executionsPerMinute: 0 } })
  const { dataDir } = service
  const { store } = service.app
  const talkers: Talker[] = []
  const ids: string[] = []
  for (const email of ['ann@example.com', 'ben@example.com', 'cat@example.com']) {
    const talker = await Talker.create(service, { agentId: 'tells', email })
    await talker.chat([filePartOf(png())])
    talkers.push(talker)
    ids.push((await talker.messages())[0].parts[0].payloadId)
  }
  const [first, second] = talkers as [Talker, Talker]
  const [removed, rowless, remaining] = ids as [string, string, string]
  const database = join(dataDir, 'copy.db')
  const from = join(dataDir, 'payloads')
  const to = `${database}.payloads`
  await store.backup(database)

  // The API deletes the row and then the file; the store deletes only the row, like a service between the two.
  const session = `/api/sessions/${first.sessionId}`
  expect((await service.request('DELETE', session, { key: first.key })).status).toBe(200)
  await expect.poll(() => existsSync(payloadFile(from, removed))).toBe(false)
  await store.deleteSession({ userId: second.person.userId, sessionId: second.sessionId })
  expect((await store.listPayloads({ afterId: '', limit: 10 })).map(({ id }) => id)).toEqual([remaining])

  expect(await copyPayloads(store, { database, from, to })).toEqual({ copied: 2, bad: [], deleted: [removed] })
  for (const id of [rowless, remaining]) expect(existsSync(payloadFile(to, id))).toBe(true)
  await service.stop()
})
