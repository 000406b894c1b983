import { expect, test } from 'vitest'
import { Talker, textOf } from '../../chat/chat-checks.ts'
import {
  cut,
  endEarly,
  refuse,
  reply,
  replyThen,
  sendBytes,
  sendLast,
  type Script,
} from '../../support/model-provider.ts'
import { secretKey } from '../model-agents.ts'
import { expectFailedChat, expectFailedTask, expectSound, startModels } from '../model-checks.ts'

type Failure = {
  what: string
  script: Script
  message: RegExp
  /** Number of model calls, including retries. */
  calls?: number
}

const badKey =
  `Incorrect API key provided: ${secretKey}. ` +
  'You can find your API key at https://platform.openai.com/account/api-keys.'

/** Failures with the same result in a chat and a task. */
const both: Failure[] = [
  {
    what: 'repeated 429',
    script: refuse(429, 'Rate limit reached.'),
    message: /^The model provider responded with 429: Rate limit reached\.$/,
    calls: 3,
  },
  {
    what: 'repeated 500',
    script: refuse(500, 'The server had an error'),
    message: /^The model provider responded with 500: The server had an error\.$/,
    calls: 3,
  },
  {
    what: '500 with an HTML page',
    script: sendBytes(['<html><h1>nginx</h1></html>'], { status: 500, type: 'text/html' }),
    message: /^The model provider responded with 500: Internal Server Error\.$/,
    calls: 3,
  },
  {
    what: '401 with a message that contains the key and a URL',
    script: refuse(401, badKey),
    message: /^The model provider responded with 401: Incorrect API key provided: …/,
  },
  {
    what: '400 for a context that is too long',
    script: refuse(400, "This model's maximum context length is 8192 tokens.", { type: 'invalid_request_error' }),
    message: /^The model provider responded with 400: This model's maximum context length is 8192 tokens\.$/,
  },
  {
    what: "404 in another server's format",
    script: sendBytes(['{"detail":"Model stub-1 not found"}'], { status: 404 }),
    message: /^The model provider responded with 404: Model stub-1 not found\.$/,
  },
]

const ofStreams: Failure[] = [
  {
    what: 'invalid usage figures',
    script: reply({ text: ['Half '], usage: { prompt_tokens: -5, completion_tokens: 1 } }),
    message: /Report a whole number from 0 to/,
  },
  {
    what: 'an error event at the beginning',
    script: sendBytes(['data: {"error":{"message":"No capacity","type":"server_error"}}\n\n']),
    message: /^The model provider failed: No capacity\.$/,
  },
  {
    what: 'an error event in the middle',
    script: replyThen(
      { text: ['Half '] },
      sendLast({ error: { message: 'Overloaded, see https://status.example.com/x now', code: 503 } }),
    ),
    message: /^The model provider responded with 503: Overloaded, see … now\.$/,
  },
  {
    what: 'an error event of a different form',
    script: replyThen({ text: ['Half '] }, sendLast({ error: 'out of memory' })),
    message: /^The model provider failed: out of memory\.$/,
  },
  {
    what: 'a connection lost in the middle',
    script: replyThen({ text: ['Half '] }, cut),
    message: /^The connection to the model provider was lost/,
  },
  {
    what: 'a response that ends in the middle without an error',
    script: replyThen({ text: ['Half '] }, endEarly),
    message: /ended without a finish reason\.$/,
  },
  {
    what: 'an event that is not JSON',
    script: replyThen({ text: ['Half '] }, sendBytesOn('data: {"choices": [nonsense\n\n')),
    message: /^The model provider's response is malformed\. Try again\.$/,
  },
  {
    what: 'an HTML page instead of a stream',
    script: sendBytes(['<html>Sign in</html>'], { type: 'text/html' }),
    message: /finish reason|cannot be read/,
  },
]

const ofWholes: Failure[] = [
  {
    what: 'a truncated response',
    script: cutWhole,
    message: /^The connection to the model provider was lost|Could not reach/,
    calls: 3,
  },
  {
    what: 'a response that is not JSON',
    script: sendBytes(['{"choices": ['], { type: 'application/json' }),
    message: /^The model provider's response is malformed\. Try again\.$/,
  },
  {
    what: 'a response without choices',
    script: sendBytes(['{"choices": []}'], { type: 'application/json' }),
    message: /choices/,
  },
  {
    what: 'a response filtered by the provider',
    script: reply({ text: [], finish: 'content_filter' }),
    message: /content filter/,
  },
  {
    what: 'endless tool calls',
    script: reply({ calls: [{ id: 'a', name: 'weather', args: '{"city":"Bern"}' }] }),
    message: /did not return any text/,
    calls: 3,
  },
]

function sendBytesOn(text: string): Script {
  return (response) => void response.end(text)
}

function cutWhole(...[response]: Parameters<Script>): void {
  response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': '1000', 'Retry-After-Ms': '1' })
  response.write('{"choices": [{"index": 0, "message": {"role": "assistant", "con', () => response.destroy())
}

test.for([...both, ...ofStreams])(
  'a chat fails free of charge with one error of one sentence: $what',
  async ({ calls = 1, message, script }) => {
    const world = await startModels()
    const talker = await Talker.create(world.service, { agentId: 'model' })
    world.provider.play(script)
    const events = await expectFailedChat(talker, message)
    expect(['', 'Half ']).toContain(textOf(events))
    expect(world.provider.requests).toHaveLength(calls)
    await expectSound(world, talker)
    await world.stop()
  },
)

test.for([...both, ...ofWholes])(
  'a task fails with AGENT_ERROR in one sentence and is refunded: $what',
  async ({ calls = 1, message, script }) => {
    const world = await startModels()
    const person = await world.service.createPerson()
    world.provider.play(script)
    await expectFailedTask(world.service, person, { message })
    expect(world.provider.requests).toHaveLength(calls)
    world.provider.play(reply({ text: ['Tea.'] }))
    expect(await world.service.runTask(person.key, 'model.draft', { subject: 'tea' })).toMatchObject({
      status: 'completed',
      response: { text: 'Tea.' },
    })
    expect((await world.service.app.store.verifyLedger()).differences).toEqual([])
    await world.stop()
  },
)

test('a step that fails after successful steps yields one error, no charge and an unchanged session', async () => {
  const world = await startModels()
  const talker = await Talker.create(world.service, { agentId: 'model' })
  world.provider.play(
    reply({ text: ['I look. '], calls: [{ id: 'a', name: 'weather', args: '{"city":"Bern"}' }] }),
    refuse(401, 'No more.'),
  )
  const events = await expectFailedChat(talker, /^The model provider responded with 401: No more\.$/)
  expect(events.map(({ type }) => type)).toEqual(['assistant_delta', 'tool_call', 'tool_result', 'error'])
  await expectSound(world, talker)
  await world.stop()
})

test('a disconnecting or unreachable provider fails after retries, without revealing its URL', async () => {
  const world = await startModels()
  const gone = await startModels()
  await gone.provider.stop()
  const talker = await Talker.create(world.service, { agentId: 'model' })
  const other = await Talker.create(gone.service, { agentId: 'model' })
  world.provider.play(cut)
  await Promise.all([
    expectFailedChat(talker, /^Could not reach the model provider \([A-Z_]+\)\. Try again\.$/),
    expectFailedChat(other, /^Could not reach the model provider \(ECONNREFUSED\)\. Try again\.$/),
    expectFailedTask(gone.service, other.person, {
      message: /Could not reach the model provider \(ECONNREFUSED\)\. Try again\.$/,
    }),
  ])
  expect(world.provider.requests).toHaveLength(3)
  await expectSound(world, talker)
  await gone.service.stop()
  await world.stop()
})
