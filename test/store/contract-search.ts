import { expect } from 'vitest'
import { draftSession } from './session-contract.ts'
import type { ContractTest } from './store-contract.ts'

const all = { limit: 1000, offset: 0 }
const inputs = [
  'Invoice INV 1357 of March',
  '50% off_now',
  'say "hi" \\ or\nnot',
  'ÄPFEL und äpfel',
  String.raw`C:\temp`,
  '😀 emoji',
]
/** Text to search for, and the indexes of the inputs that contain it. */
const searches: [text: string, found: number[]][] = [
  ['inv 1357', [0]],
  ['INVOICE', [0]],
  ['%', [1]],
  ['_now', [1]],
  ['"hi"', [2]],
  ['\\ or', [2]],
  ['or\nnot', [2]],
  ['Äpfel', [3]],
  ['äpfel und', []],
  ['ÄPFEL', [3]],
  ['äpfel', [3]],
  ['c:\\TEMP', [4]],
  ['😀', [5]],
  ['TEXT', [0, 1, 2, 3, 4, 5]],
  ['nothing like it', []],
]

export function describeSearch(contractTest: ContractTest): void {
  contractTest('finds tasks by text of their input, and pages through them', async (world) => {
    const userId = await world.createUser()
    const stranger = await world.createUser()
    const ids: string[] = []
    for (const text of inputs) {
      const request = { text: JSON.stringify({ text }), payloadId: null }
      ids.push((await world.completed(userId, { request })).id)
      await world.completed(stranger, { request })
      world.clock.advance(1)
    }
    for (const [search, found] of searches) {
      const { tasks, total } = await world.store.listTasks({ userId, search, ...all })
      const expected = found.map((at) => ids[at]).toReversed()
      expect([search, tasks.map(({ id }) => id), total]).toEqual([search, expected, expected.length])
    }
    const search = 'text'
    const first = await world.store.listTasks({ userId, search, limit: 4, offset: 0 })
    expect(first).toMatchObject({ total: 6, next: expect.anything() })
    const rest = await world.store.listTasks({ userId, search, limit: 4, offset: 0, after: first.next! })
    expect([...first.tasks, ...rest.tasks].map(({ id }) => id)).toEqual(ids.toReversed())
  })

  contractTest('finds failed tasks by text of the error message, together with the other filters', async (world) => {
    const userId = await world.createUser()
    const fail = async (message: string, agentId: string) => {
      const { attempt, id: taskId } = await world.processing(userId, { agentId })
      await world.store.failTask({
        taskId,
        attempt,
        error: { code: 'AGENT_ERROR', message, details: '' },
        countsAsAbuse: false,
      })
      return taskId
    }
    const ids = [await fail('The "Provider" is down', 'text'), await fail('Timed\0 out', 'text')]
    const image = await fail('The provider is slow', 'image')
    await world.completed(userId)
    const find = async (search: string, filter = {}) =>
      (await world.store.listTasks({ userId, search, ...filter, ...all })).tasks.map(({ id }) => id)
    expect(await find('PROVIDER')).toEqual([image, ids[0]])
    expect(await find('the "provider"')).toEqual([ids[0]])
    expect(await find('OUT')).toEqual([ids[1]])
    expect(await find('provider', { agentId: 'image' })).toEqual([image])
    expect(await find('provider', { agentId: 'image', status: 'completed' })).toEqual([])
    expect(await find('provider', { outcome: 'failed', tags: ['a:b'] })).toEqual([])
  })

  contractTest('finds tasks by endpoint and API key, and shows a preview only on request', async (world) => {
    const userId = await world.createUser()
    const text = JSON.stringify({ text: 'x'.repeat(500) })
    const one = { endpointId: 'text.one', keyId: 'key_a', request: { text, payloadId: null } }
    const first = await world.pending(userId, one)
    const second = await world.pending(userId, { ...one, keyId: 'key_b' })
    const third = await world.pending(userId, { endpointId: 'text.two' })
    const find = async (filter: object) =>
      (await world.store.listTasks({ userId, ...filter, ...all })).tasks.map(({ id }) => id)
    expect(await find({ endpointId: 'text.one' })).toEqual([second, first])
    expect(await find({ keyId: 'key_a' })).toEqual([first])
    expect(await find({ keyId: 'key_b', endpointId: 'text.two' })).toEqual([])
    expect(await find({ keyId: 'key_a', agentId: 'text' })).toEqual([first])
    expect(await find({ keyId: 'key_a', agentId: 'image' })).toEqual([])
    expect(await find({ keyId: 'key_a', status: 'pending' })).toEqual([first])
    expect(await find({ keyId: 'key_a', status: 'failed' })).toEqual([])
    expect(await find({ keyId: 'key_c' })).toEqual([])
    expect(await find({ endpointId: 'text.two', agentId: 'text', status: 'pending' })).toEqual([third])
    expect(await world.read(userId, first)).toMatchObject({ keyId: 'key_a' })
    const plain = (await world.store.listTasks({ userId, ...all })).tasks
    expect(plain.map(({ keyId, preview }) => [keyId, preview])).toEqual([
      [null, null],
      ['key_b', null],
      ['key_a', null],
    ])
    for (const filter of [{}, { agentId: 'text' }, { status: 'pending' as const }, { endpointId: 'text.one' }]) {
      const shown = await world.store.listTasks({ userId, ...filter, withPreview: true, ...all })
      expect(shown.tasks.at(-1)).toMatchObject({ id: first, preview: text.slice(0, 200), errorMessage: null })
    }
    const { attempt } = (await world.store.claimTask(first)) as { attempt: number }
    const error = { code: 'AGENT_ERROR', message: 'No answer', details: '' }
    await world.store.failTask({ taskId: first, attempt, error, countsAsAbuse: false })
    const { tasks } = await world.store.listTasks({ userId, keyId: 'key_a', withPreview: true, ...all })
    expect(tasks).toMatchObject([{ errorCode: 'AGENT_ERROR', errorMessage: 'No answer' }])
  })

  contractTest('finds the owner of an id', async (world) => {
    const userId = await world.createUser()
    await world.createUser()
    const taskId = await world.pending(userId)
    const draft = draftSession(world, userId)
    await world.store.createSession(draft)
    const { sessionId } = draft
    const { transactions } = await world.store.listTransactions({ userId, ...all })
    const find = (id: string) => world.store.findOwner(id)
    expect(await find(userId)).toEqual({ type: 'user', userId })
    expect(await find(taskId)).toEqual({ type: 'task', userId, taskId })
    expect(await find(sessionId)).toEqual({ type: 'session', userId, sessionId })
    expect(await find(transactions[0]!.id)).toEqual({ type: 'transaction', userId, taskId })
    expect(await find(transactions.at(-1)!.id)).toEqual({ type: 'transaction', userId })
    for (const prefix of ['user', 'task', 'ses', 'turn', 'txn', 'top', 'key', 'con', 'hook', 'login', 'nothing']) {
      expect(await find(`${prefix}_${'0'.repeat(26)}`)).toBeUndefined()
    }
    for (const id of ['', 'task_', `${taskId}0`, taskId.toUpperCase(), "' OR 1=1 --"]) {
      expect(await find(id)).toBeUndefined()
    }
  })
}
