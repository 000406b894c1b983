// An MCP server over stdio that misbehaves as its first argument says, started by tests.
import { spawn } from 'node:child_process'
import { closeSync, writeSync } from 'node:fs'
import { createInterface } from 'node:readline'

type Request = { id?: number; method: string; params?: { name: string; arguments: { bytes?: number } } }

const stay = () => void setInterval(() => {}, 60_000)
const print = (message: object) => void process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
const flood = (text: string) => void process.stdout.write(text, () => flood(text))

/** Starts a child that keeps our standard output open and ends only on SIGKILL. */
function spawnStubborn(isOfTheGroup: boolean): number {
  const script = 'process.on("SIGTERM", () => {}); setInterval(() => {}, 60_000); process.send("up")'
  const stubborn = spawn(process.execPath, ['-e', script], {
    detached: !isOfTheGroup,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  stubborn.once('message', () => {
    stubborn.disconnect()
    stubborn.unref()
    print({ id: callId, result: { content: [{ type: 'text', text: String(stubborn.pid) }] } })
  })
  return 0
}

let callId: number | undefined

const tools: Record<string, (bytes: number) => string | undefined | void> = {
  hang: () => {},
  exit: () => process.exit(3),
  kill: () => void process.kill(process.pid, 'SIGKILL'),
  'answer-and-exit': () => {
    print({ id: callId, result: { content: [{ type: 'text', text: 'x'.repeat(1_000_000) }] } })
    process.stdout.end(() => process.exit(0))
  },
  huge: (bytes) => 'x'.repeat(bytes),
  split: () => {
    const result = { content: [{ type: 'text', text: 'Ahoi ☃ 🧭' }] }
    const line = Buffer.from(`${JSON.stringify({ jsonrpc: '2.0', id: callId, result })}\n`)
    const write = (at: number) =>
      void (at < line.length && process.stdout.write(line.subarray(at, at + 1), () => setTimeout(write, 1, at + 1)))
    write(0)
  },
  unasked: () => {
    print({ id: 4711, result: {} })
    return 'answered'
  },
  spawn: () => void spawnStubborn(true),
  'spawn-escaped': () => void spawnStubborn(false),
  'close-input': () => {
    process.stdin.destroy()
    closeSync(0)
    stay()
    return 'closed'
  },
  'close-output': () => {
    process.stdout.destroy()
    closeSync(1)
    stay()
  },
}

function serve(): void {
  createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params } = JSON.parse(line) as Request
    if (id === undefined) return
    if (method === 'initialize') {
      const serverInfo = { name: 'rogue', version: '1' }
      return print({ id, result: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo } })
    }
    if (method !== 'tools/call') return answerUnknown(id)
    callId = id
    const text = tools[params!.name]!(params!.arguments.bytes ?? 0)
    if (text !== undefined) print({ id, result: { content: [{ type: 'text', text }] } })
  })
}

let answerUnknown = (id: number) => print({ id, error: { code: -32601, message: 'Method not found' } })

const modes: Record<string, () => void> = {
  serve,
  exit: () => process.exit(3),
  kill: () => void process.kill(process.pid, 'SIGKILL'),
  silent: () => void process.stdin.resume(),
  unread: stay,
  stubborn: () => {
    process.on('SIGTERM', () => {})
    serve()
    stay()
  },
  banner: () => {
    writeSync(1, '\n'.repeat(50) + 'Welcome!\n{"level":30,"msg":"listening"}\r\n'.repeat(10))
    serve()
  },
  garbage: () => flood('No message.\n'.repeat(1000)),
  'endless-line': () => flood('x'.repeat(10_000)),
  'talks-on-stderr': () => {
    process.stderr.write(`${'secret '.repeat(1_000_000)}the end`, serve)
  },
  'ignores-unknown': () => {
    answerUnknown = () => {}
    serve()
  },
}

modes[process.argv[2]!]!()
