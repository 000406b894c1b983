import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { createMCPClient, type MCPClient } from '@ai-sdk/mcp'
import { expect, onTestFinished, test, vi } from 'vitest'
import { ConnectorError, type StdioTarget } from '../../../../server/connectors/connector-spec.ts'
import { StdioTransport, type StdioOptions } from '../../../../server/connectors/thread/stdio-transport.ts'
import { openResources } from '../../../support/resources.ts'

const everything = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'))
const rogue = fileURLToPath(new URL('../../stdio-rogue-server.ts', import.meta.url))
const ownerFile = fileURLToPath(new URL('../../stdio-owner.ts', import.meta.url))
const PATH = process.env['PATH'] ?? ''
const megabyte = 1024 * 1024

/** Creates a transport. Its process counts as a leftover until it has exited. */
function transportFor(target: Partial<StdioTarget>, options: Partial<StdioOptions> = {}) {
  const pids: number[] = []
  const transport = new StdioTransport(
    { kind: 'stdio', command: process.execPath, args: [], cwd: null, ...target, env: { PATH, ...target.env } },
    {
      lineBytesMax: megabyte,
      onSpawn: (pid) => {
        pids.push(pid)
        openResources.add(`stdio server ${pid}`)
      },
      onGone: (pid) => openResources.delete(`stdio server ${pid}`),
      ...options,
    },
  )
  onTestFinished(() => transport.close())
  return { transport, pids }
}

const rogueTransport = (mode: string, options?: Partial<StdioOptions>) => transportFor({ args: [rogue, mode] }, options)

const connect = (transport: StdioTransport, timeout = 20_000): Promise<MCPClient> =>
  createMCPClient({ transport, initializationOptions: { timeout }, clientName: 'errand' })

async function call(client: MCPClient, name: string, args: Record<string, unknown> = {}): Promise<string> {
  const { content } = (await client.callTool({ name, arguments: args })) as { content: { text: string }[] }
  return content.map(({ text }) => text).join('')
}

/** A zombie that init has not reaped yet is not alive. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return process.platform !== 'linux' || !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

async function expectGone(pid: number): Promise<void> {
  expect(pid).toBeGreaterThan(0)
  while (isAlive(pid)) await delay(5)
}

test("lists and calls a server's tools, and closing the client ends the server", async () => {
  const { pids, transport } = transportFor({ args: [everything, 'stdio'] })
  const client = await connect(transport)
  const names: string[] = []
  let cursor: string | undefined
  do {
    const page = await client.listTools(cursor === undefined ? {} : { params: { cursor } })
    names.push(...page.tools.map(({ name }) => name))
    cursor = page.nextCursor
  } while (cursor !== undefined)
  expect(names).toEqual(expect.arrayContaining(['echo', 'get-sum', 'get-env']))
  expect(await call(client, 'echo', { message: 'Ahoi ☃\n🧭' })).toBe('Echo: Ahoi ☃\n🧭')
  expect(await call(client, 'get-sum', { a: 2, b: 3 })).toBe('The sum of 2 and 3 is 5.')
  await client.close()
  expect(pids).toHaveLength(1)
  await expectGone(pids[0]!)
  expect(transport.failure).toBeUndefined()
})

test('a server sees only its configured environment variables', async () => {
  vi.stubEnv('ERRAND_SECRET', 'must not be seen')
  onTestFinished(() => void vi.unstubAllEnvs())
  const { transport } = transportFor({ args: [everything, 'stdio'], env: { TOKEN: 'given' } })
  const client = await connect(transport)
  expect(JSON.parse(await call(client, 'get-env'))).toEqual({ PATH, TOKEN: 'given' })
  await client.close()
})

test('finds a command on PATH and runs it in its folder or in the temporary folder', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'errand-stdio-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const cwd of [folder, null]) {
    const { pids, transport } = transportFor({ command: 'sh', args: ['-c', 'pwd -P >&2; read line'], cwd })
    await transport.start()
    await expect.poll(() => transport.stderrTail.trim()).toBe(realpathSync(cwd ?? tmpdir()))
    await transport.close()
    await expectGone(pids[0]!)
  }
})

test.each<[string, (folder: string) => Partial<StdioTarget>, string]>([
  ['no such command', () => ({ command: 'no-such-command' }), 'its command was not found'],
  ['a file that is not executable', (folder) => ({ command: join(folder, 'text') }), 'its command is not executable'],
  ['no such folder', (folder) => ({ cwd: join(folder, 'missing') }), 'its folder does not exist'],
  ['a file instead of a folder', (folder) => ({ cwd: join(folder, 'text') }), 'the system returned ENOTDIR'],
  ['a NUL in an argument', () => ({ args: ['\0'] }), 'the system returned ERR_INVALID_ARG_VALUE'],
])('reports why a server cannot start: %s', async (_, target, reason) => {
  const folder = mkdtempSync(join(tmpdir(), 'errand-stdio-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'text'), 'text')
  const { pids, transport } = transportFor(target(folder))
  const refusal = await transport.start().catch((error: unknown) => error)
  expect(refusal).toEqual(
    new ConnectorError(`Could not start the connector's server: ${reason}. Ask the operator to fix its configuration.`),
  )
  expect(refusal).toBeInstanceOf(ConnectorError)
  expect(transport.failure).toBe(refusal)
  expect(pids).toEqual([])
  await transport.close()
})

test.each([
  ['exit', "exited with code 3 before it responded. Check the server's log."],
  ['kill', "was ended by SIGKILL before it responded. Check the server's log."],
  ['garbage', 'wrote something other than MCP messages to its standard output. Make it log to standard error.'],
  ['endless-line', 'sent a message of more than 1048576 bytes. Request a smaller response.'],
])('a server in mode "%s" fails before it is initialized, and its process ends', async (mode, ending) => {
  const { pids, transport } = rogueTransport(mode)
  await expect(connect(transport)).rejects.toThrow()
  expect(transport.failure).toEqual(new ConnectorError(`The connector's server ${ending}`))
  await transport.close()
  await expectGone(pids[0]!)
})

test('calls to a server that never responds time out, and close ends the server', async () => {
  const { pids, transport } = rogueTransport('silent')
  await expect(connect(transport, 300)).rejects.toThrow('timed out after 300ms')
  await transport.close()
  await expectGone(pids[0]!)
  expect(transport.failure).toBeUndefined()
})

test('kills a server that ignores the end of its input and SIGTERM', async () => {
  const { pids, transport } = rogueTransport('stubborn', { graceMs: 50 })
  const client = await connect(transport)
  await client.close()
  await expectGone(pids[0]!)
})

test('gives a server time to exit after its input ends', async () => {
  const { pids, transport } = rogueTransport('serve', { graceMs: 600_000 })
  const client = await connect(transport)
  await client.close()
  await expectGone(pids[0]!)
})

test('ignores blank lines and up to twenty non-message lines before the first message', async () => {
  const { transport } = rogueTransport('banner')
  const client = await connect(transport)
  expect(await call(client, 'huge', { bytes: 3 })).toBe('xxx')
  await client.close()
  expect(transport.failure).toBeUndefined()
})

test.each([
  ['exit', "exited with code 3 before it responded. Check the server's log."],
  ['kill', "was ended by SIGKILL before it responded. Check the server's log."],
  ['close-output', "closed its standard output. Check the server's log."],
])('a call fails immediately if the server does "%s", and so do later calls', async (tool, ending) => {
  const { pids, transport } = rogueTransport('serve')
  const client = await connect(transport)
  const calls = [call(client, 'hang'), call(client, tool), call(client, 'hang')]
  for (const pending of calls) await expect(pending).rejects.toThrow('Connection closed')
  expect(transport.failure).toEqual(new ConnectorError(`The connector's server ${ending}`))
  await expect(call(client, 'hang')).rejects.toThrow()
  await expect(transport.send({ jsonrpc: '2.0', id: 1, method: 'ping' })).rejects.toBe(transport.failure)
  // The server exited without `close`.
  await expectGone(pids[0]!)
  await transport.close()
})

test('reads a response printed right before the exit', async () => {
  const { transport } = rogueTransport('serve')
  const client = await connect(transport)
  expect(await call(client, 'answer-and-exit')).toHaveLength(1_000_000)
  await expect.poll(() => transport.failure?.message).toContain('exited with code 0')
  await client.close()
})

test('sending to a server that closed its input fails without an unhandled error', async () => {
  const { pids, transport } = rogueTransport('serve', { graceMs: 50 })
  const client = await connect(transport)
  expect(await call(client, 'close-input')).toBe('closed')
  const ping = transport.send({ jsonrpc: '2.0', id: 1, method: 'ping' })
  await expect(call(client, 'hang')).rejects.toThrow('Connection closed')
  await expect(ping).rejects.toBe(transport.failure)
  expect(transport.failure?.message).toBe("The connector's server closed its standard input. Check the server's log.")
  await transport.close()
  await expectGone(pids[0]!)
})

test('sending waits for a server that does not read, and fails on close', async () => {
  const { transport } = rogueTransport('unread', { graceMs: 50 })
  await transport.start()
  const settled: string[] = []
  const send = (id: number, text: string) =>
    transport.send({ jsonrpc: '2.0', id, method: text }).then(
      () => settled.push(`${id} sent`),
      (error: unknown) => settled.push(`${id} ${error instanceof ConnectorError}`),
    )
  const first = send(1, 'x')
  const rest = [send(2, 'x'.repeat(4 * megabyte)), send(3, 'x')]
  await first
  expect(settled).toEqual(['1 sent'])
  await transport.close()
  await Promise.all(rest)
  expect(settled).toEqual(['1 sent', '2 true', '3 true'])
})

test('accepts a line up to the size limit and rejects a longer one', async () => {
  const { pids, transport } = rogueTransport('serve', { lineBytesMax: 16 * megabyte })
  const client = await connect(transport)
  expect(await call(client, 'huge', { bytes: 15 * megabyte })).toHaveLength(15 * megabyte)
  expect(await call(client, 'huge', { bytes: 5 })).toBe('xxxxx')
  await expect(call(client, 'huge', { bytes: 16 * megabyte })).rejects.toThrow('Connection closed')
  expect(transport.failure?.message).toBe(
    "The connector's server sent a message of more than 16777216 bytes. Request a smaller response.",
  )
  await transport.close()
  await expectGone(pids[0]!)
})

test('keeps a character split across chunks intact', async () => {
  const { transport } = rogueTransport('serve')
  const client = await connect(transport)
  expect(await call(client, 'split')).toBe('Ahoi ☃ 🧭')
  await client.close()
})

test('ignores a response to no request', async () => {
  const { transport } = rogueTransport('serve')
  const client = await connect(transport)
  expect(await call(client, 'unasked')).toBe('answered')
  await client.close()
})

test('keeps the last 2 KB of standard error', async () => {
  const { transport } = rogueTransport('talks-on-stderr')
  const client = await connect(transport)
  await expect.poll(() => transport.stderrTail).toMatch(/secret the end$/)
  expect(transport.stderrTail).toHaveLength(2048)
  await client.close()
})

test('close kills child processes that ignore SIGTERM and hold the output open', async () => {
  const { pids, transport } = rogueTransport('serve')
  const client = await connect(transport)
  const grandchild = Number(await call(client, 'spawn'))
  expect(isAlive(grandchild)).toBe(true)
  await client.close()
  await expectGone(pids[0]!)
  await expectGone(grandchild)
})

test('kills child processes when the server exits without a close', async () => {
  const { pids, transport } = rogueTransport('serve')
  const client = await connect(transport)
  const grandchild = Number(await call(client, 'spawn'))
  await expect(call(client, 'exit')).rejects.toThrow('Connection closed')
  expect(transport.failure?.message).toContain('exited with code 3')
  await expectGone(pids[0]!)
  await expectGone(grandchild)
})

test('a process outside the group holding the output delays neither failure nor close', async () => {
  const openPipes = () => process.getActiveResourcesInfo().filter((kind) => kind === 'PipeWrap').length
  const openBefore = openPipes()
  const { pids, transport } = rogueTransport('serve')
  const client = await connect(transport)
  const escaped = Number(await call(client, 'spawn-escaped'))
  await expect(call(client, 'exit')).rejects.toThrow('Connection closed')
  expect(transport.failure?.message).toContain('exited with code 3')
  await transport.close()
  await expectGone(pids[0]!)
  await expect.poll(openPipes, { message: 'nothing keeps our process alive' }).toBe(openBefore)
  process.kill(escaped, 'SIGKILL')
  await expectGone(escaped)
})

// The server and its child ignore the end of their input, and SIGTERM.
test('killing the owner process ends the server and its children', async () => {
  const owner = spawn(process.execPath, [ownerFile, rogue, 'stubborn'], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = (await once(owner.stdout, 'data')) as [Buffer]
  const pids = JSON.parse(String(line)) as number[]
  expect(pids.map(isAlive)).toEqual([true, true])
  owner.kill('SIGKILL')
  for (const pid of pids) await expectGone(pid)
})

test('terminating the owner thread ends the server and its children', async () => {
  const owner = new Worker(ownerFile, { workerData: [rogue, 'stubborn'] })
  const [pids] = (await once(owner, 'message')) as [number[]]
  expect(pids.map(isAlive)).toEqual([true, true])
  await owner.terminate()
  for (const pid of pids) await expectGone(pid)
})

const parentOf = (pid: number) => Number(/\) \w (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))![1])

test.runIf(process.platform === 'linux')(
  'a small launcher process starts servers and gives the next server a lower priority',
  async () => {
    const { pids, transport } = rogueTransport('serve')
    const client = await connect(transport)
    const launcher = parentOf(pids[0]!)
    expect([launcher !== process.pid, parentOf(launcher)]).toEqual([true, process.pid])
    const second = rogueTransport('serve')
    const other = await connect(second.transport)
    const niceness = () => Number(/nice (\d+)/.exec(readFileSync(`/proc/${second.pids[0]}/autogroup`, 'utf8'))![1])
    if (existsSync('/proc/self/autogroup')) await expect.poll(niceness).toBeGreaterThanOrEqual(3)
    await client.close()
    await other.close()
  },
)

test.runIf(process.platform === 'linux')(
  'servers end with their launcher, and the next server gets a new launcher',
  async () => {
    const first = rogueTransport('stubborn')
    const client = await connect(first.transport)
    const pending = expect(call(client, 'hang')).rejects.toThrow('Connection closed')
    process.kill(parentOf(first.pids[0]!), 'SIGKILL')
    await pending
    expect(first.transport.failure?.message).toMatch(/was ended by SIGKILL|closed its standard (in|out)put/)
    await expectGone(first.pids[0]!)
    const second = rogueTransport('serve')
    const other = await connect(second.transport)
    expect(await call(other, 'huge', { bytes: 3 })).toBe('xxx')
    await other.close()
  },
)

test('close fails pending calls immediately, runs once and prevents a restart', async () => {
  const { pids, transport } = rogueTransport('stubborn', { graceMs: 50 })
  const client = await connect(transport)
  const pending = expect(call(client, 'hang')).rejects.toThrow('Connection closed')
  const closing = transport.close()
  await pending
  expect(isAlive(pids[0]!), 'the call did not wait for the process').toBe(true)
  await Promise.all([closing, transport.close(), client.close()])
  await expectGone(pids[0]!)
  await expect(transport.start()).rejects.toThrow(ConnectorError)
})

test('a transport closed before it has started starts no process', async () => {
  const { pids, transport } = rogueTransport('serve')
  const starting = transport.start()
  await transport.close()
  await expect(starting).rejects.toThrow(ConnectorError)
  expect(pids).toEqual([])
})

test('an aborted start leaves no process behind, regardless of timing', async () => {
  for (const afterMs of [0, 1, 20, 100]) {
    const { pids, transport } = rogueTransport('silent')
    const initializationOptions = { signal: AbortSignal.timeout(afterMs) }
    await expect(createMCPClient({ transport, initializationOptions })).rejects.toThrow('aborted')
    await transport.close()
    for (const pid of pids) await expectGone(pid)
  }
})
