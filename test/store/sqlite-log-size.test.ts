import { statSync } from 'node:fs'
import { expect, test } from 'vitest'
import { databaseFile, openConnection } from '../../server/store/sqlite/database.ts'
import { newFolder } from './sqlite-engine.ts'

test('the log shrinks to 64 MB after a long read during which it grew', () => {
  const dataDir = newFolder()
  const writer = openConnection(dataDir, 0)
  const reader = openConnection(dataDir, 0)
  writer.pragma('synchronous = OFF')
  writer.exec('CREATE TABLE t (id INTEGER PRIMARY KEY, content BLOB); INSERT INTO t VALUES (1, NULL)')
  const write = writer.prepare('UPDATE t SET content = randomblob(8 * 1024 * 1024)')
  const logBytes = () => statSync(`${databaseFile(dataDir)}-wal`).size
  reader.exec('BEGIN')
  reader.prepare('SELECT id FROM t').get()
  for (let n = 0; n < 10; n++) write.run()
  expect(logBytes()).toBeGreaterThan(80_000_000)
  reader.exec('COMMIT')
  for (let n = 0; n < 2; n++) write.run()
  expect(logBytes()).toBeLessThanOrEqual(64 * 1024 * 1024)
  reader.close()
  writer.close()
})
