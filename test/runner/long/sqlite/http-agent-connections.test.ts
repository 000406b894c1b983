import { execFile, execFileSync } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { missingCommand, testNeeding } from '../../../support/test-needing.ts'
import { httpReply, httpRun } from '../../../../server/agents/http/http-agent.ts'
import { httpLimits, toHttpService } from '../../../../server/agents/http/http-service.ts'
import { runHttpTask } from '../../../../server/agents/http/http-task.ts'
import {
  agentAt,
  answerWith,
  chatRun,
  readReply,
  replyWith,
  secret,
  startAgentService,
  startTcpService,
  taskRun,
} from '../../agent-service.ts'

const hello = '{"type":"text","delta":"Hello"}\n'

/** Verifies the signature and returns its time. */
function verify(request: { headers: NodeJS.Dict<string | string[]>; text: string }): number {
  const { headers, text } = request
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${text}`
  expect(headers['webhook-signature']).toBe(`v1,${createHmac('sha256', key).update(signed).digest('base64')}`)
  return Number(headers['webhook-timestamp'])
}

test('signs the id, timestamp and body of tasks and chats', async () => {
  const before = Math.floor(Date.now() / 1000)
  const service = await startAgentService((response, request) =>
    (request.body.type === 'task' ? answerWith(200, '{}') : replyWith(hello))(response, request),
  )
  await httpRun(agentAt(service.url), 'count')(taskRun({ params: { text: 'Grüße ☃ 🚀 \u0000 \ud800' } }))
  await readReply(httpReply(agentAt(service.url))(chatRun({ message: 'Grüße ☃ 🚀' })))
  await service.stop()
  expect(service.requests.map(({ headers }) => headers['webhook-id'])).toEqual(['task_1', 'turn_1'])
  for (const request of service.requests) {
    const seconds = verify(request)
    expect(seconds).toBeGreaterThanOrEqual(before)
    expect(seconds).toBeLessThanOrEqual(Date.now() / 1000)
  }
})

async function refusingUrl(): Promise<string> {
  const service = await startTcpService(() => {})
  await service.stop()
  return service.url
}

test('tries a refused connection three times and reveals neither URL nor secret', async () => {
  const url = (await refusingUrl()).replace('http://', 'http://somebody:password@')
  const lines: string[] = []
  const log = (message: string, fields?: object) => void lines.push(message + JSON.stringify(fields))
  const failure = await httpRun(agentAt(url), 'count')(taskRun({ log })).catch((error: Error) => error)
  expect(failure).toMatchObject({ message: "The agent's service refused the connection. Check that it is running." })
  expect(failure).not.toHaveProperty('cause')
  expect(lines.filter((line) => line.includes('ECONNREFUSED'))).toHaveLength(3)
  expect(lines.filter((line) => line.includes('retrying the request'))).toHaveLength(2)
  expect(lines.join('\n')).not.toMatch(/password|whsec|127\.0\.0\.1/)
})

test('a service that starts during the retries gets the request once', async () => {
  const url = await refusingUrl()
  const started: ReturnType<typeof startAgentService>[] = []
  const log = (message: string) => {
    if (!message.includes('retrying the request') || started.length > 0) return
    started.push(startAgentService(replyWith(hello), { port: Number(new URL(url).port) }))
  }
  const { failure, parts } = await readReply(httpReply(agentAt(url))(chatRun({ log })))
  expect(failure).toBe('')
  expect(parts).toHaveLength(1)
  const service = await started[0]!
  expect(service.requests).toHaveLength(1)
  await service.stop()
})

test('does not retry once connected, even without any response', async () => {
  const atOnce = await startTcpService((socket) => socket.destroy())
  const reset = await startTcpService((socket) => void socket.once('data', () => socket.resetAndDestroy()))
  const refusing = await startAgentService(answerWith(503, ''))
  for (const service of [atOnce, reset, refusing]) {
    await expect(httpRun(agentAt(service.url), 'count')(taskRun())).rejects.toThrow("The agent's service ")
    expect((await readReply(httpReply(agentAt(service.url))(chatRun()))).failure).toMatch("The agent's service ")
    await service.stop()
    expect(service.connections).toHaveLength(2)
  }
})

test('sends credentials in the URL as Basic auth, not in the Host header', async () => {
  const service = await startAgentService(answerWith(200, '{}'))
  const url = service.url.replace('http://', 'http://some%20body:p%40ss@')
  await httpRun(agentAt(url), 'count')(taskRun())
  await service.stop()
  const { headers } = service.requests[0]!
  expect(headers.authorization).toBe(`Basic ${Buffer.from('some body:p@ss').toString('base64')}`)
  expect(headers.host).toBe(new URL(service.url).host)
})

const askTwice = `
  import { get } from 'node:http'
  const [moduleUrl, agent, run] = process.argv.slice(1)
  const { httpRun } = await import(moduleUrl)
  const value = await httpRun(JSON.parse(agent), 'count')({ ...JSON.parse(run), signal: new AbortController().signal })
  get(JSON.parse(agent).url, (response) => console.log(JSON.stringify({ value, ordinary: response.statusCode })))
`

test('ignores the proxy from the environment', async () => {
  const proxy = await startTcpService((socket) => {
    socket.once('data', () => socket.end('HTTP/1.1 502 Proxy\r\nContent-Length: 0\r\n\r\n'))
  })
  const service = await startAgentService(answerWith(200, '{"direct":true}'))
  const module = new URL('../../../../server/agents/http/http-agent.ts', import.meta.url).href
  const { log: _, signal: __, ...run } = taskRun()
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--input-type=module', '-e', askTwice, module, JSON.stringify(agentAt(service.url)), JSON.stringify(run)],
    { env: { PATH: process.env['PATH'], NODE_USE_ENV_PROXY: '1', HTTP_PROXY: proxy.url, http_proxy: proxy.url } },
  )
  expect(JSON.parse(stdout)).toEqual({ value: { direct: true }, ordinary: 502 })
  await service.stop()
  await proxy.stop()
  expect(proxy.connections).toHaveLength(1)
})

test.each([
  ['ftp://127.0.0.1/', secret, 'The url of the agent "remote" must be an http or https URL'],
  ['no address', secret, 'The url of the agent "remote" must be an http or https URL'],
  [
    'http://127.0.0.1/',
    'whsec_c2hvcnQ=',
    'The secret of the agent "remote" must be whsec_ followed by 24 to 64 bytes in base64',
  ],
])('rejects the URL %s with the secret %s before any run', (url, key, message) => {
  const agent = { ...agentAt(url), secret: key }
  expect(() => httpRun(agent, 'count')).toThrow(message)
  expect(() => httpReply(agent)).toThrow(message)
})

test('a stopped task ends immediately and closes its connection', async () => {
  for (const head of [false, true]) {
    const asked = Promise.withResolvers<void>()
    const left = Promise.withResolvers<void>()
    const service = await startAgentService((response) => {
      response.once('close', left.resolve)
      if (head) response.writeHead(200, { 'Content-Type': 'application/json' }).write('{"a":')
      asked.resolve()
    })
    const controller = new AbortController()
    const run = httpRun(agentAt(service.url), 'count')(taskRun({ signal: controller.signal }))
    await asked.promise
    controller.abort()
    await expect(run).rejects.toThrow('The run was stopped.')
    await left.promise
    await service.stop()
  }
})

test('a stopped chat ends without a failure and closes its connection', async () => {
  for (const head of [false, true]) {
    const asked = Promise.withResolvers<void>()
    const left = Promise.withResolvers<void>()
    const service = await startAgentService((response) => {
      response.once('close', left.resolve)
      if (head) response.writeHead(200, { 'Content-Type': 'application/x-ndjson' }).write(hello)
      asked.resolve()
    })
    const controller = new AbortController()
    const reply = readReply(httpReply(agentAt(service.url))(chatRun({ signal: controller.signal })))
    await asked.promise
    controller.abort()
    expect((await reply).failure).toBe('')
    await left.promise
    await service.stop()
  }
})

test('closes the connection of an invalid response without waiting for its end', async () => {
  for (const status of [200, 307, 500]) {
    const left: Promise<void>[] = []
    const service = await startAgentService((response) => {
      left.push(new Promise((resolve) => response.once('close', resolve)))
      response.writeHead(status, { 'Content-Type': 'text/html' }).write('<p>')
    })
    await expect(httpRun(agentAt(service.url), 'count')(taskRun())).rejects.toThrow("The agent's service responded")
    expect((await readReply(httpReply(agentAt(service.url))(chatRun()))).failure).toMatch(
      "The agent's service responded",
    )
    expect(left).toHaveLength(2)
    await Promise.all(left)
    await service.stop()
  }
})

test('a stopped run makes no connection and no further attempts', async () => {
  const service = await startAgentService(answerWith(200, '{}'))
  const run = httpRun(agentAt(service.url), 'count')
  await expect(run(taskRun({ signal: AbortSignal.abort() }))).rejects.toThrow('The run was stopped.')
  await service.stop()
  expect(service.connections).toEqual([])

  const controller = new AbortController()
  const lines: string[] = []
  const log = (message: string) => {
    lines.push(message)
    if (message.includes('retrying the request')) controller.abort()
  }
  const late = httpRun(agentAt(await refusingUrl()), 'count')(taskRun({ signal: controller.signal, log }))
  await expect(late).rejects.toThrow('The run was stopped.')
  expect(lines).toHaveLength(2)
})

test('tries three times to connect if TLS handshakes hang, and sends no request', async () => {
  let bytes = ''
  const service = await startTcpService(
    (socket) => void socket.on('data', (chunk) => (bytes += chunk.toString('latin1'))),
  )
  const url = service.url.replace('http:', 'https:')
  const task = { service: toHttpService(agentAt(url)), agentId: 'remote', name: 'count', run: taskRun() }
  await expect(runHttpTask({ ...task, limits: { ...httpLimits, connectMs: 100 } })).rejects.toThrow(
    "Could not connect to the agent's service within 0.1 seconds. Try again later.",
  )
  await service.stop()
  expect(service.connections).toHaveLength(3)
  expect(bytes).not.toContain('POST')
})

const opensslTest = testNeeding('openssl', missingCommand('openssl', 'version'))

/** Creates a self-signed certificate for that name. */
function makeCertificate(name: string): { key: string; cert: string } {
  const folder = mkdtempSync(join(tmpdir(), 'errand-cert-'))
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const kind = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  const names = ['-subj', '/CN=agent', '-addext', `subjectAltName=${name}`]
  execFileSync('openssl', [...kind, ...names, '-keyout', key, '-out', cert], { stdio: 'ignore' })
  const made = { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') }
  rmSync(folder, { recursive: true })
  return made
}

opensslTest(`sends nothing to a server whose certificate is untrusted or for another name`, async () => {
  const other = makeCertificate('DNS:elsewhere.example')
  const before = getCACertificates('default')
  for (const isTrusted of [false, true]) {
    const service = await startAgentService(answerWith(200, '{}'), { tls: other })
    if (isTrusted) setDefaultCACertificates([other.cert])
    try {
      await expect(httpRun(agentAt(service.url), 'count')(taskRun())).rejects.toThrow(
        "Could not establish a secure connection to the agent's service. Try again later.",
      )
    } finally {
      setDefaultCACertificates(before)
    }
    await service.stop()
    expect(service.connections).toHaveLength(3)
    expect(service.requests).toEqual([])
  }
})

opensslTest(`sends requests over TLS to a service with a trusted certificate`, async () => {
  const own = makeCertificate('IP:127.0.0.1,DNS:localhost')
  const before = getCACertificates('default')
  const service = await startAgentService(
    (response, request) => (request.body.type === 'task' ? answerWith(200, '{}') : replyWith(hello))(response, request),
    { tls: own },
  )
  setDefaultCACertificates([own.cert])
  try {
    for (const url of [service.url, service.url.replace('127.0.0.1', 'localhost')]) {
      expect(await httpRun(agentAt(url), 'count')(taskRun())).toEqual({})
      expect((await readReply(httpReply(agentAt(url))(chatRun()))).parts).toHaveLength(1)
    }
  } finally {
    setDefaultCACertificates(before)
  }
  await service.stop()
  expect(service.requests).toHaveLength(4)
})
