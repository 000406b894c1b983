// Starts a stdio server, makes it start a child process, and reports both. Tests terminate it, as a process or a
// thread, without warning.
import { isMainThread, parentPort, workerData } from 'node:worker_threads'
import { createMCPClient } from '@ai-sdk/mcp'
import { StdioTransport } from '../../server/connectors/thread/stdio-transport.ts'

const args = (isMainThread ? process.argv.slice(2) : workerData) as string[]
const pids: number[] = []
const transport = new StdioTransport(
  { kind: 'stdio', command: process.execPath, args, env: {}, cwd: null },
  { lineBytesMax: 1_000_000, onSpawn: (pid) => pids.push(pid) },
)
const client = await createMCPClient({ transport, clientName: 'errand' })
const { content } = (await client.callTool({ name: 'spawn', arguments: {} })) as { content: { text: string }[] }
pids.push(Number(content[0]!.text))
if (parentPort) parentPort.postMessage(pids)
else process.stdout.write(`${JSON.stringify(pids)}\n`)
setInterval(() => {}, 60_000)
