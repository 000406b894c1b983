// A misbehaving MCP server over stdio, started by tests. It misbehaves from its start as its first argument says, or
// when one of its tools is called.
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

type Message = { id?: number | string; method?: string; params?: any; result?: unknown; error?: unknown }

const [mode, mark = ''] = process.argv.slice(2)
const { OPERATOR_KEY = '', USER_TOKEN = '' } = process.env
const secrets = `${USER_TOKEN} and ${OPERATOR_KEY}`

const print = (message: object) => void process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
const answer = (id: Message['id'], text: string, more: object = {}) =>
  print({ id, result: { content: [{ type: 'text', text }], ...more } })

/** The client's responses to this server's requests. */
const told: object[] = []
let asker: Message['id']

const tools: Record<string, (id: Message['id'], args: any) => void> = {
  hang: () => {},
  exit: () => process.exit(3),
  fail: (id) => answer(id, 'The file is not there.', { isError: true }),
  refuse: (id, { chars = 0 }) =>
    print({ id, error: { code: -32602, message: `a must be a number${'!'.repeat(chars)}` } }),
  fill: (id, { chars }) => answer(id, 'x'.repeat(chars)),
  nest: (id, { levels }) => {
    const deep = `${'['.repeat(levels)}${']'.repeat(levels)}`
    process.stdout.write(`{"jsonrpc":"2.0","id":${id},"result":{"content":[],"structuredContent":{"deep":${deep}}}}\n`)
  },
  count: (id) => answer(id, 'A number.', { structuredContent: { count: Number(USER_TOKEN) } }),
  wrong: (id) => print({ id, result: { content: 'no list' } }),
  garbage: () => void process.stdout.write('This is no message.\n'.repeat(50)),
  tell: (id) => answer(id, `I know ${secrets}`, { structuredContent: { [USER_TOKEN]: OPERATOR_KEY } }),
  'tell-as-error': (id) => print({ id, error: { code: -32000, message: `Not with ${secrets}` } }),
  'tell-and-exit': () => {
    console.error(secrets)
    process.exit(3)
  },
  spawn: (id) => {
    const script = 'process.on("SIGTERM", () => {}); setInterval(() => {}, 60_000); process.send("up")'
    const child = spawn(process.execPath, ['-e', script, mark], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    child.once('message', () => answer(id, 'spawned'))
  },
  ask: (id) => {
    asker = id
    print({ id: 'r1', method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } })
    print({ id: 'r2', method: 'elicitation/create', params: { message: 'Password?', requestedSchema: {} } })
    print({ id: 'r3', method: 'roots/list' })
  },
}

function listed(): object[] {
  const of = (name: string) => ({ name, inputSchema: { type: 'object' } })
  if (mode === 'odd-names') return ['a.b', 'a b', 'ä', 'x'.repeat(100), 'tools/get', '$&', 'constructor'].map(of)
  if (mode !== 'leaky') return Object.keys(tools).map(of)
  const describe = { description: `Knows ${secrets}`, title: secrets }
  return Object.keys(tools).map((name) => ({ ...of(name), ...describe }))
}

function receive({ error, id, method, params, result }: Message): void {
  if (method === undefined) {
    told.push({ id, error, result })
    if (told.length === 3) answer(asker, JSON.stringify(told))
    return
  }
  if (id === undefined || mode === 'no-answer') return
  if (method === 'initialize') {
    const serverInfo = { name: 'rogue', version: '1' }
    return print({ id, result: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo } })
  }
  if (method === 'tools/list') {
    if (mode === 'no-tools') return
    if (mode === 'list-error') return print({ id, error: { code: -32603, message: `Not with ${secrets}` } })
    return print({ id, result: { tools: listed() } })
  }
  const use = method === 'tools/call' && mode !== 'odd-names' && tools[params.name]
  if (mode === 'odd-names' && method === 'tools/call') return answer(id, `called ${params.name}`)
  if (!use) return print({ id, error: { code: -32601, message: 'Method not found' } })
  use(id, params.arguments ?? {})
}

if (mode === 'exit') process.exit(3)
if (mode === 'garbage') process.stdout.write('This is no message.\n'.repeat(50))
createInterface({ input: process.stdin }).on('line', (line) => receive(JSON.parse(line) as Message))
