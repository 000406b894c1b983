import { expect, test, vi } from 'vitest'
import { soon, startTalk } from '../chat/chat-checks.ts'
import { say } from '../support/chat-agents.ts'
import { readSse, user, WireCalls } from './wire-calls.ts'

async function start() {
  const service = await startTalk()
  const calls = async (balanceUsd = '10') => new WireCalls(service, await service.createPerson({ balanceUsd }))
  return { service, calls, mine: await calls() }
}

test('a response is stored in its own session, and can be read again unchanged', async () => {
  const { mine, service } = await start()
  const { body, headers, status } = await mine.respond('Hello', { metadata: { order: '7' }, instructions: 'Be brief.' })
  expect(status).toBe(200)
  const [charge] = await mine.charges()
  expect(headers.get('errand-turn-id')).toBe(charge.turnId)
  expect(body).toMatchObject({
    id: charge.turnId.replace('turn_', 'resp_'),
    object: 'response',
    status: 'completed',
    store: true,
    instructions: 'Be brief.',
    metadata: { order: '7' },
    conversation: { id: charge.sessionId },
    usage: { input_tokens: charge.breakdown.promptTokens, cost_usd: charge.amountUsd.slice(1) },
  })
  expect(body.output).toEqual([
    {
      type: 'message',
      id: charge.turnId.replace('turn_', 'msg_'),
      status: 'completed',
      role: 'assistant',
      content: [{ type: 'output_text', text: 'You said: Hello', annotations: [], logprobs: [] }],
    },
  ])
  const read = await mine.get(`/responses/${body.id}`)
  expect(read.body).toMatchObject({ id: body.id, status: 'completed', output: body.output, usage: body.usage })
  const { messages } = (await service.get(`/api/sessions/${charge.sessionId}/messages`, mine.person.key)).body
  expect(messages.map(({ content }: any) => content)).toEqual(['Hello', 'You said: Hello'])
  await mine.expectSound()
  await service.stop()
})

test('instructions and system messages apply to one response; the next gets the conversation without them', async () => {
  const { mine, service } = await start()
  const history = say({ do: 'tell', what: 'history' })
  const system = { role: 'system', content: 'Twice.' }
  const first = await mine.respond([system, user(history)], { instructions: 'Once.' })
  const told = (answer: any) => JSON.parse(answer.body.output[0].content[0].text)
  expect(told(first).map(({ content }: any) => content)).toEqual(['Once.', 'Twice.'])
  const second = await mine.respond(history, { previous_response_id: first.body.id })
  expect(second.body.previous_response_id).toBe(first.body.id)
  expect(told(second).map(({ role }: any) => role)).toEqual(['user', 'assistant'])
  const unstored = await mine.respond('Hello', { previous_response_id: second.body.id, store: false })
  expect([unstored.status, unstored.body.error.param]).toEqual([400, 'store'])
  const again = await mine.respond('Hello', { previous_response_id: first.body.id })
  expect([again.status, again.body.error.param]).toEqual([400, 'previous_response_id'])
  const third = await mine.respond('Hello', { conversation: second.body.conversation.id })
  expect(third.body.conversation).toEqual(first.body.conversation)
  expect(await mine.sessions()).toHaveLength(1)
  await mine.expectSound()
  await service.stop()
})

test('a response with `store: false` has no session and cannot be read again', async () => {
  const { mine, service } = await start()
  const earlier = [user('One'), { role: 'assistant', content: [{ type: 'output_text', text: 'Two' }] }]
  const history = user(say({ do: 'tell', what: 'history' }))
  const whole = await mine.respond([...earlier, history])
  expect(JSON.parse(whole.body.output[0].content[0].text).map(({ content }: any) => content)).toEqual(['One', 'Two'])
  const unkept = await mine.respond('Hello', { store: false })
  for (const { body } of [whole, unkept]) {
    expect(body.store).toBe(false)
    const read = await mine.get(`/responses/${body.id}`)
    expect([read.status, read.body.error.code]).toEqual([404, 'response_not_found'])
    const next = await mine.respond('Hello', { previous_response_id: body.id })
    expect([next.status, next.body.error.param]).toEqual([404, 'previous_response_id'])
  }
  expect(await mine.sessions()).toEqual([])
  for (const more of [{ store: true }, { background: true }]) {
    expect((await mine.respond([...earlier, history], more)).status).toBe(400)
  }
  expect(await mine.charges()).toHaveLength(2)
  await mine.expectSound()
  await service.stop()
})

test('streams typed events in order, and replays them identically from any event', async () => {
  const { mine, service } = await start()
  const steps = say({ do: 'reasoning', delta: 'Hm' }, { do: 'text', delta: 'a' }, { do: 'text', delta: '"b"' })
  const { body } = await mine.respond(steps, { stream: true })
  const events = readSse(body)
  expect(events.at(-1)!.data).toBe('[DONE]')
  const typed = events.slice(0, -1)
  expect(typed.map(({ data }) => data.sequence_number)).toEqual(typed.map((_, index) => index))
  expect(typed.every(({ data, event }) => data.type === event)).toBe(true)
  expect(typed.map(({ event }) => event!.replace('response.', ''))).toEqual([
    'created',
    'in_progress',
    'output_item.added',
    'reasoning_summary_part.added',
    'reasoning_summary_text.delta',
    'reasoning_summary_text.done',
    'reasoning_summary_part.done',
    'output_item.done',
    'output_item.added',
    'content_part.added',
    'output_text.delta',
    'output_text.delta',
    'output_text.done',
    'content_part.done',
    'output_item.done',
    'completed',
  ])
  const { response } = typed.at(-1)!.data
  expect(response.output).toMatchObject([
    { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm' }] },
    { type: 'message', content: [{ type: 'output_text', text: 'a"b"' }] },
  ])
  const uncut = readSse((await mine.get(`/responses/${response.id}?stream=true`)).body).slice(0, -1)
  // A stored response has fewer fields of the request.
  const said = (all: typeof events) => all.filter(({ data }) => data.response === undefined)
  expect(said(uncut)).toEqual(said(typed))
  for (let after = 0; after < typed.length; after++) {
    const path = `/responses/${response.id}?stream=true&starting_after=${after}`
    expect(readSse((await mine.get(path)).body).slice(0, -1)).toEqual(uncut.slice(after + 1))
  }
  expect(await mine.charges()).toHaveLength(1)
  await mine.expectSound()
  await service.stop()
})

test('a background response continues without a reader, and can be read when done', async () => {
  const { mine, service } = await start()
  const steps = say({ do: 'text', delta: 'Slow' }, { do: 'wait', ms: 100 }, { do: 'text', delta: 'ly' })
  const begun = await mine.respond(steps, { background: true })
  expect(begun.body).toMatchObject({ status: 'in_progress', output: [], usage: null })
  const read = async () => (await mine.get(`/responses/${begun.body.id}`)).body
  await expect.poll(async () => (await read()).status, soon).toBe('completed')
  expect((await read()).output[0].content[0].text).toBe('Slowly')
  await mine.expectSound()
  await service.stop()
})

test('a canceled response is charged at most once, and stays canceled when read', async () => {
  const { calls, mine, service } = await start()
  const steps = say({ do: 'text', delta: 'Begun' }, { do: 'await-abort' })
  const { body } = await mine.respond(steps, { background: true })
  const strange = await (await calls()).post(`/responses/${body.id}/cancel`, {})
  expect(strange.status).toBe(404)
  const canceled = await mine.post(`/responses/${body.id}/cancel`, {})
  expect([canceled.status, canceled.body.status]).toEqual([200, 'cancelled'])
  expect((await mine.post(`/responses/${body.id}/cancel`, {})).body).toEqual(canceled.body)
  expect((await mine.get(`/responses/${body.id}`)).body).toEqual(canceled.body)
  expect((await mine.charges()).length).toBeLessThanOrEqual(1)
  await mine.expectSound()
  await service.stop()
})

test('deleting the last response of a conversation deletes both, but keeps the charge', async () => {
  const { calls, mine, service } = await start()
  const first = await mine.respond('Hello')
  const second = await mine.respond('Hello', { previous_response_id: first.body.id })
  const remove = (who: WireCalls, id: string) =>
    service.request('DELETE', `/v1/responses/${id}`, { key: who.person.key })
  expect((await remove(await calls(), second.body.id)).status).toBe(404)
  expect((await remove(mine, first.body.id)).body.error.param).toBe('response_id')
  expect((await remove(mine, second.body.id)).body).toMatchObject({ id: second.body.id, deleted: true })
  for (const { body } of [first, second]) expect((await mine.get(`/responses/${body.id}`)).status).toBe(404)
  expect(await mine.sessions()).toEqual([])
  expect(await mine.charges()).toHaveLength(2)
  await mine.expectSound()
  await service.stop()
})

test('a rejected response leaves no session, and a failed response states the reason', async () => {
  const { calls, mine, service } = await start()
  const poor = await calls('0')
  const written = vi.spyOn(service.app.store, 'createSession')
  const refused = await poor.respond('Hello')
  expect([refused.status, refused.body.error.code]).toEqual([402, 'insufficient_quota'])
  // No session is written, not even a temporary one, because nothing limits the number of rejected requests.
  expect(written).not.toHaveBeenCalled()
  expect(await poor.sessions()).toEqual([])
  const steps = say({ do: 'text', delta: 'Well' }, { do: 'throw', message: 'It broke.' })
  const failed = await mine.respond(steps)
  expect([failed.status, failed.body.error.code]).toEqual([500, 'agent_error'])
  expect(written).toHaveBeenCalledOnce()
  expect(await mine.sessions()).toEqual([])
  const { data } = readSse((await mine.respond(steps, { stream: true })).body).at(-2)!
  expect(data).toMatchObject({
    type: 'response.failed',
    response: { status: 'failed', error: { code: 'agent_error' } },
  })
  expect((await mine.get(`/responses/${data.response.id}`)).body.status).toBe('failed')
  await mine.expectSound()
  await service.stop()
})

test('rejects unsupported and unknown parameters with 400, and names them', async () => {
  const { mine, service } = await start()
  const bad: [object, string][] = [
    [{ input: [] }, 'input'],
    [{ input: '' }, 'input'],
    [{ input: [{ type: 'function_call_output', output: 'x' }] }, 'input[0].type'],
    [{ input: [user([{ type: 'input_image', image_url: 'data:' }])] }, 'input[0].content[0]'],
    [{ tools: [{ type: 'function', name: 'x' }] }, 'tools'],
    [{ top_logprobs: 2 }, 'top_logprobs'],
    [{ truncation: 'auto' }, 'truncation'],
    [{ text: { format: { type: 'json_object' } } }, 'text.format'],
    [{ nonsense: 1 }, 'nonsense'],
    [{ background: true, store: false }, 'background'],
    [{ previous_response_id: 'resp_1', conversation: 'ses_1' }, 'previous_response_id'],
  ]
  for (const [more, param] of bad) {
    const { body, status } = await mine.respond('Hello', more)
    expect([status, body.error.param], JSON.stringify(more)).toEqual([400, param])
  }
  expect(await mine.charges()).toEqual([])
  expect(await mine.sessions()).toEqual([])
  await service.stop()
})

test('a session of the user survives a failed first response', async () => {
  const { mine, service } = await start()
  const { sessionId } = (await service.post('/api/sessions', { agentId: 'talk' }, { key: mine.person.key })).body
  const failed = await mine.respond(say({ do: 'throw', message: 'It broke.' }), { conversation: sessionId })
  expect(failed.status).toBe(500)
  expect((await mine.sessions()).map(({ id }) => id)).toEqual([sessionId])
  await service.stop()
})
