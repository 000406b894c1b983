import { rmSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { besideServer } from '../../runner/process-client.ts'
import { queryRows } from '../../support/test-engine.ts'
import { startProcess } from '../../support/test-process.ts'
import { newDataDir } from '../../support/test-service.ts'
import { until } from '../../support/until.ts'
import { MailCatcher } from '../mail-catcher.ts'

const kills = 6
const perKill = 6

test('each mail of a committed act is sent at least once, although the service is killed again and again', async () => {
  const dataDir = newDataDir()
  const catcher = await MailCatcher.start({
    // Takes its time, so that kills hit mails in flight.
    onMailFrom: (_address, _session, done) => void setTimeout(done, 50),
  })
  const emails = Array.from({ length: kills * perKill }, (_, n) => `person-${n}@example.com`)
  await besideServer(dataDir, async (store) => {
    for (const email of emails) await store.createUser({ email, passwordHash: 'hash', isAdmin: false })
  })
  const answered: string[] = []
  for (let kill = 0; kill < kills; kill++) {
    const server = await startProcess({ dataDir, env: catcher.env })
    const request = async (email: string) => {
      const headers = { 'Content-Type': 'application/json' }
      const sent = { method: 'POST', headers, body: JSON.stringify({ email }) }
      const answer = await fetch(`${server.url}/api/password-resets`, sent).catch(() => undefined)
      if (answer?.status === 200) answered.push(email)
    }
    const requests = emails.slice(kill * perKill, (kill + 1) * perKill).map(request)
    // Kills at each stage: before the first commit, between answers and mails, and when almost all were sent.
    const progress = () => answered.length + catcher.asked.length
    const wanted = progress() + Math.round((kill / kills) * 2 * perKill)
    await until('the requests are under way', 30_000, () => progress() >= wanted)
    await delay(Math.random() * 50)
    await server.end('SIGKILL')
    await Promise.all(requests)
  }
  const server = await startProcess({ dataDir, env: catcher.env })
  const committed = async () => (await queryRows(dataDir, 'SELECT email, status FROM mails')) as { email: string }[]
  const isCaught = (email: string) => catcher.to(email).length > 0
  await until('all are sent', 100_000, async () => (await committed()).every(({ email }) => isCaught(email)))
  const rows = await committed()
  expect(rows.length).toBeGreaterThan(perKill)
  expect(answered.filter((email) => !isCaught(email))).toEqual([])
  expect(new Set(catcher.caught.map(({ to }) => to))).toEqual(new Set(rows.map(({ email }) => email)))
  expect(await server.end('SIGTERM')).toBe(0)
  await catcher.stop()
  rmSync(dataDir, { recursive: true })
}, 300_000)
