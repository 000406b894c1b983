import { test } from 'vitest'
import { eraseWithKills } from '../erasure-kills.ts'
import { newFolder, openIn } from '../sqlite-engine.ts'

test('SQLite: an erasure that is killed repeatedly continues, and the ledger adds up after each kill', async () => {
  const dataDir = newFolder()
  const open = async (options: Parameters<typeof openIn>[1]) => openIn(dataDir, options)
  await eraseWithKills({ place: { dataDir }, open, tasks: 2000, killMsMax: 40 })
}, 300_000)
