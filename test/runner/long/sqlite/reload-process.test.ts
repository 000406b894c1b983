import { rmSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runErrand, startProcess, type ServerProcess } from '../../../support/test-process.ts'
import { newDataDir } from '../../../support/test-service.ts'
import { until, waitMsMax } from '../../../support/until.ts'
import { writeProject } from '../../reload-project.ts'

const agentsOf = async ({ url }: ServerProcess, key: string) =>
  (await (await fetch(`${url}/api/agents`, { headers: { Authorization: `Bearer ${key}` } })).json()).agents
const priceOf = async (server: ServerProcess, key: string) => (await agentsOf(server, key))[0]?.endpoints[0].priceUsd

async function startProject(command: 'serve' | 'demo') {
  const folder = newDataDir()
  const dataDir = join(folder, 'data')
  const config = writeProject(folder, { version: 'old' })
  const server = await startProcess({ dataDir, config, command })
  await runErrand(['users', 'create', '--email', 'a@example.com', '--data', dataDir])
  const created = await runErrand([
    'keys',
    'create',
    '--name',
    'test',
    '--user',
    'a@example.com',
    '--json',
    '--data',
    dataDir,
  ])
  return { dataDir, folder, server, key: (JSON.parse(created) as { key: string }).key }
}

test('`errand reload` and SIGHUP load the configuration again, and say why they did not', async () => {
  const { dataDir, folder, key, server } = await startProject('serve')
  const reload = () => runErrand(['reload', '--data', dataDir])
  writeProject(folder, { version: 'new', priceUsd: '0.0200', rest: 'limits: { drainSeconds: 9 }' })
  expect(await reload()).toBe('Reloaded the configuration with 1 agent. Restart the server to change limits.\n')
  expect(await priceOf(server, key)).toBe('0.0200')

  writeProject(folder, { version: 'new', priceUsd: 'dear' })
  const why = 'agents[0].endpoints.tell.priceUsd'
  await expect(reload()).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining('Could not reload the configuration, so nothing has changed: '),
  })
  await expect(reload()).rejects.toThrow(why)
  expect(server.log()).toContain('could not reload the configuration; nothing has changed')
  expect(server.log()).toContain(why)
  expect(await priceOf(server, key)).toBe('0.0200')

  writeProject(folder, { version: 'new', priceUsd: '0.0300' })
  server.child.kill('SIGHUP')
  await until('the price changes', waitMsMax, async () => (await priceOf(server, key)) === '0.0300')
  expect(await server.end('SIGTERM')).toBe(0)
  await expect(reload()).rejects.toMatchObject({
    code: 1,
    stderr: `errand: No server is running with the data directory ${dataDir}. Choose another directory with --data.\n`,
  })
  rmSync(folder, { recursive: true })
})

test('`errand demo` reloads changed modules, and ignores a half-written one', async () => {
  const { folder, key, server } = await startProject('demo')
  const isPrice = (price: string) =>
    until(`the price is ${price}`, waitMsMax, async () => (await priceOf(server, key)) === price)
  writeProject(folder, { version: 'new', priceUsd: '0.0200' })
  await isPrice('0.0200')
  truncateSync(join(folder, 'agents/desk.ts'), 300)
  await until('the log says why', waitMsMax, () => server.log().includes('nothing has changed'))
  expect(await priceOf(server, key)).toBe('0.0200')
  writeProject(folder, { version: 'new', priceUsd: '0.0300' })
  await isPrice('0.0300')
  expect(await server.end('SIGTERM')).toBe(0)
  rmSync(folder, { recursive: true })
})
