import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { expectOneEnd, soon, Talker } from '../../chat/chat-checks.ts'
import chatAgents from '../../support/chat-agents.ts'
import { newDataDir, startService } from '../../support/test-service.ts'
import { modelAgents } from '../model-agents.ts'

const configFile = fileURLToPath(new URL('../encoding-agents.ts', import.meta.url))

/**
 * Starts a service with agent threads. Also returns the file in which they record that they have loaded the token
 * encoding.
 */
async function start(kind: 'models' | 'code') {
  const dataDir = newDataDir()
  const notes = join(dataDir, 'notes')
  process.env['TEST_ENCODING_KIND'] = kind
  process.env['TEST_ENCODING_NOTES'] = notes
  const config = kind === 'models' ? modelAgents('http://127.0.0.1:9') : chatAgents
  const service = await startService({ config, configFile, dataDir, limits: { executionsPerMinute: 0 } })
  return { service, notes }
}

test('a thread with models loads the encoding before the first chat, so that no shutdown waits for it', async () => {
  const { notes, service } = await start('models')
  await expect.poll(() => existsSync(notes) && readFileSync(notes, 'utf8'), soon).toMatch(/^gpt-tokenizer/)
  await service.stop()
})

test('a thread without models does not load the encoding', async () => {
  const { notes, service } = await start('code')
  const talker = await Talker.create(service)
  expectOneEnd(await (await talker.do({ do: 'usage', promptTokens: 1, completionTokens: 1 })).all(), 'done')
  expect(existsSync(notes)).toBe(false)
  await service.stop()
})
