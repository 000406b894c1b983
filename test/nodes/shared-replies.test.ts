import { expect, test } from 'vitest'
import { expectOneEnd, soon, Talker } from '../chat/chat-checks.ts'
import { ofTier } from '../run/tiers.ts'
import { say, type Step } from '../support/chat-agents.ts'
import { ChatReader } from '../support/chat-reader.ts'
import type { TestService } from '../support/test-service.ts'
import { at, startNodes } from './start-nodes.ts'
import { nothingUsed } from '../../server/store/sessions/turn-endings.ts'

const options = { limits: { executionsPerMinute: 0, leaseSeconds: 4 } }

async function startTwo() {
  const { nodes, ...more } = await startNodes(options, options)
  const [first, second] = nodes as [TestService, TestService]
  return { first, second, ...more }
}

/** Returns a deterministic random number generator. */
function numbers(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

/** Returns the steps of a reply with several kinds of events, some simultaneous, some large. */
function replyOf(seed: number): Step[] {
  const next = numbers(seed)
  const steps: Step[] = []
  for (let n = 0; n < 2 + next(5); n++) {
    const kind = next(4)
    if (kind === 0)
      steps.push({ do: 'call', id: `c${n}`, arguments: { n } }, { do: 'result', id: `c${n}`, output: { n } })
    else if (kind === 1) steps.push({ do: 'text', delta: 'y'.repeat(1 + next(30_000)) })
    else steps.push({ do: 'text', delta: `Füße ${n} {"seq":${n}}\n`, times: 1 + next(3) })
    if (next(3) === 0) steps.push({ do: 'sleep', ms: 1 + next(20) })
  }
  return steps
}

async function read(talker: Talker, turnId: string, after: number, isSse: boolean): Promise<string> {
  const path = `/api/chat/${turnId}/events${isSse ? '' : `?after=${after}`}`
  const headers: Record<string, string> = isSse
    ? { accept: 'text/event-stream', ...(after > 0 && { 'last-event-id': String(after) }) }
    : {}
  const reader = await ChatReader.open({ url: talker.service.url, key: talker.key, path, headers })
  await reader.all()
  expect([200, 204], reader.text).toContain(reader.status)
  return reader.text
}

test('a reply cut off anywhere can be resumed completely, in both formats and on both nodes, for one charge', async () => {
  const { first, second, stop } = await startTwo()
  const talker = await Talker.create(first, { balanceUsd: '100000' })
  const there = at(second, talker)
  const turns = ofTier(4, 50)
  for (let seed = 1; seed <= turns; seed++) {
    const message = say(...replyOf(seed))
    const body = { sessionId: talker.sessionId, message, onDisconnect: 'continue' }
    const reader = await ChatReader.open({ url: first.url, key: talker.key, body })
    const turnId = String(reader.headers['errand-turn-id'])
    // Every other reply loses its reader in the middle. The others are read to their end, and reread afterwards.
    if (seed % 2 === 0) {
      await reader.until('assistant_delta').catch(() => undefined)
      reader.leave()
    }
    // Both nodes read from the beginning while the turn continues.
    const [here, elsewhere] = await Promise.all([read(talker, turnId, 0, false), read(there, turnId, 0, false)])
    expect(elsewhere).toBe(here)
    const lines = here.split(/(?<=\n)/)
    expectOneEnd(
      lines.map((line) => JSON.parse(line)),
      'done',
    )
    const asSse = await read(talker, turnId, 0, true)
    const messages = asSse.split(/(?<=\n\n)/)
    expect(messages).toHaveLength(lines.length)
    for (const node of [talker, there]) {
      for (let cut = 0; cut <= lines.length; cut++) {
        expect(lines.slice(0, cut).join('') + (await read(node, turnId, cut, false))).toBe(here)
        expect(messages.slice(0, cut).join('') + (await read(node, turnId, cut, true))).toBe(asSse)
      }
    }
    await talker.settled()
  }
  expect((await first.get('/api/transactions?type=chat_charge', talker.key)).body.total).toBe(turns)
  await stop()
})

test("a stop at one node ends another node's reply, with the same end for both readers", async () => {
  const { first, second, stop } = await startTwo()
  const talker = await Talker.create(first)
  const there = at(second, talker)
  const reader = await talker.do({ do: 'text', delta: 'Some text. ' }, { do: 'await-abort' })
  await reader.until('assistant_delta')
  const turnId = String(reader.headers['errand-turn-id'])
  const follower = await ChatReader.open({
    url: second.url,
    key: there.key,
    path: `/api/sessions/${talker.sessionId}/stream`,
  })
  await follower.until('assistant_delta')
  const { body } = await second.post(`/api/chat/${turnId}/stop`, {}, { key: there.key })
  expect(body).toEqual({ turnId, stopped: true })
  const end = expectOneEnd(await reader.all(), 'error')
  expect(end.error.message).toBe('The reply was stopped.')
  expect(await follower.end()).toEqual(end)
  const again = await second.post(`/api/chat/${turnId}/stop`, {}, { key: there.key })
  expect(again.body.stopped).toBe(false)
  await stop()
})

test("a reader at another node gets the ledger's end of a reply whose node is lost", async () => {
  const { first, second, stop } = await startTwo()
  const talker = await Talker.create(first)
  const body = {
    sessionId: talker.sessionId,
    message: say({ do: 'text', delta: 'Some text. ' }, { do: 'await-abort' }),
    onDisconnect: 'continue',
  }
  const reader = await ChatReader.open({ url: first.url, key: talker.key, body })
  await reader.until('assistant_delta')
  const turnId = String(reader.headers['errand-turn-id'])
  const follower = await ChatReader.open({ url: second.url, key: talker.key, path: `/api/chat/${turnId}/events` })
  await follower.until('assistant_delta')
  // Closes the turn as another node would after a loss, while the lost node stays silent.
  const lost = { turnId, outcome: 'failed', cost: 0, breakdown: nothingUsed, exchange: null } as const
  await second.app.store.settleTurn(lost)
  const end = expectOneEnd(await follower.all(), 'error')
  expect(end).toMatchObject({ seq: 2, error: { code: 'AGENT_INTERRUPTED' }, costUsd: '0.0000' })
  reader.leave()
  await expect.poll(async () => (await talker.account()).heldUsd, soon).toBe('0.0000')
  await stop()
})
