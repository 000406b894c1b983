import { spawn, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { httpReply, httpRun } from '../../../../server/agents/http/http-agent.ts'
import { signRequest } from '../../../../server/outbound/request-signature.ts'
import { parseWebhookSecret } from '../../../../server/agents/config/webhook-secret.ts'
import { must } from '../../../../server/kernel/assert.ts'
import { openResources } from '../../../support/resources.ts'
import { missingCommand, testNeeding } from '../../../support/test-needing.ts'
import { startService } from '../../../support/test-service.ts'
import { agentAt, chatRun, readReply, secret, taskRun } from '../../agent-service.ts'

const folder = fileURLToPath(new URL('../../../../examples/python-agent/', import.meta.url))
type PythonAgent = { url: string; child: ChildProcess; stop: () => Promise<void> }

/** Starts the example as its README says, on a free port. */
async function startPython(): Promise<PythonAgent> {
  const child = spawn('python3', [`${folder}agent.py`, '--port', '0'], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...process.env, AGENT_SECRET: secret },
  })
  const name = `python agent ${child.pid}`
  openResources.add(name)
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const url = await new Promise<string>((resolve, reject) => {
    let output = ''
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString()
      const found = /^Listening on (\S+)\n/.exec(output)
      if (found) resolve(`${found[1]}/`)
    })
    void exited.then(() => reject(new Error('the agent ended before it listened')))
  })
  const stop = async () => {
    child.kill('SIGKILL')
    await exited
    openResources.delete(name)
  }
  return { url, child, stop }
}

const pythonTest = testNeeding('python', missingCommand('python3', '--version'))
const text = 'The cat sat on the mat. It was a beautiful morning!'
const found = {
  words: 11,
  sentences: 2,
  syllables: 14,
  wordsPerSentence: 5.5,
  longestWord: 'beautiful',
  readingEase: 93.6,
}
const answer = '11 words in 2 sentences, 5.5 words in each; the longest is “beautiful”. Reading ease: 93.6.'

pythonTest('the Python example runs tasks and replies, and reports its errors', async () => {
  const agent = await startPython()
  const config = agentAt(agent.url)
  expect(await httpRun(config, 'readability')(taskRun({ params: { text } }))).toEqual(found)
  const history = [
    { role: 'user', content: 'One.' },
    { role: 'assistant', content: 'Two.' },
  ] as const
  const { failure, parts } = await readReply(httpReply(config)(chatRun({ message: text, history })))
  expect(failure).toBe('')
  expect(parts.slice(0, 2)).toEqual([
    { type: 'tool-call', id: 'call-1', name: 'readability', arguments: { text } },
    { type: 'tool-result', id: 'call-1', output: found },
  ])
  const words = parts.slice(2).map((part) => (part.type === 'text' ? part.delta : part.type))
  expect(words.join('')).toBe(`${answer} That was text number 2 of this session.`)
  expect(words.length).toBeGreaterThan(20)

  await expect(httpRun(config, 'readability')(taskRun({ params: { text: '…' } }))).rejects.toThrow(
    "The agent's service responded with 400: The text has no words.",
  )
  await expect(httpRun(config, 'nothing')(taskRun())).rejects.toThrow(
    "The agent's service responded with 404: There is no such endpoint.",
  )
  const foreign = { ...config, secret: `whsec_${Buffer.alloc(32).toString('base64')}` }
  const refused = "The agent's service responded with 401: The signature is wrong."
  await expect(httpRun(foreign, 'readability')(taskRun())).rejects.toThrow(refused)
  expect((await readReply(httpReply(foreign)(chatRun()))).failure).toBe(refused)
  await agent.stop()
})

pythonTest(`the Python example accepts a signature for five minutes and only for its own body`, async () => {
  const agent = await startPython()
  const key = must(parseWebhookSecret(secret), 'a secret')
  const body = JSON.stringify({ type: 'task', endpoint: 'readability', params: { text } })
  const statusOf = async (seconds: number, change: Record<string, string> = {}, sent = body) => {
    const headers = {
      ...signRequest([key], { id: 'task_1', body, at: new Date(Date.now() + seconds * 1000) }),
      ...change,
    }
    return (await fetch(agent.url, { method: 'POST', body: sent, headers })).status
  }
  const own = signRequest([key], { id: 'task_1', body, at: new Date() })['webhook-signature']
  expect(await statusOf(0)).toBe(200)
  expect(await statusOf(-290)).toBe(200)
  expect(await statusOf(290)).toBe(200)
  expect(await statusOf(-310)).toBe(401)
  expect(await statusOf(310)).toBe(401)
  expect(await statusOf(0, {}, body.replace('cat', 'dog'))).toBe(401)
  expect(await statusOf(0, { 'webhook-id': 'task_2' })).toBe(401)
  expect(await statusOf(0, { 'webhook-timestamp': 'now' })).toBe(401)
  expect(await statusOf(0, { 'webhook-signature': '' })).toBe(401)
  expect(await statusOf(0, { 'webhook-signature': own.replace('v1,', 'v2,') })).toBe(401)
  expect(await statusOf(0, { 'webhook-signature': own.slice(0, -2) })).toBe(401)
  const { 'webhook-timestamp': at, 'webhook-signature': right } = signRequest([key], {
    id: 'task_1',
    body,
    at: new Date(),
  })
  const several = { 'webhook-timestamp': at, 'webhook-signature': `v1,AAAA v1a,BBBB ${right}` }
  expect(await statusOf(0, several)).toBe(200)
  await agent.stop()
})

pythonTest("users can run the Python example's agent with its configuration, and are charged", async () => {
  const agent = await startPython()
  Object.assign(process.env, { AGENT_URL: agent.url, AGENT_SECRET: secret })
  const { default: config } = await import('../../../../examples/python-agent/errand.config.ts')
  const service = await startService({ config, configFile: `${folder}errand.config.ts` })
  const { key } = await service.createPerson({ balanceUsd: '1.0000' })
  expect(await service.runTask(key, 'reader.readability', { text })).toMatchObject({
    status: 'completed',
    response: found,
    costUsd: '0.0050',
  })
  expect(await service.runTask(key, 'reader.readability', { text: '…' })).toMatchObject({
    status: 'failed',
    error: { code: 'AGENT_ERROR', message: "The agent's service responded with 400: The text has no words." },
  })
  const { body: session } = await service.post('/api/sessions', { agentId: 'reader' }, { key })
  const chat = await service.post('/api/chat', { sessionId: session.sessionId, message: text }, { key })
  const events = (chat.body as string)
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  const deltas = events.filter(({ type }) => type === 'assistant_delta').map(({ delta }) => delta)
  expect(deltas.join('')).toBe(answer)
  expect(events.find(({ type }) => type === 'tool_result').toolResult.output).toEqual(found)
  expect(events.at(-1)).toMatchObject({ type: 'done' })
  await service.stop()
  await agent.stop()
  delete process.env['AGENT_URL']
  delete process.env['AGENT_SECRET']
})
