import { expect } from 'vitest'
import { newId } from '../../server/kernel/ids.ts'
import type { OpenTurn } from '../../server/store/sessions/session-types.ts'
import { draftTurn, finished, opened } from './session-contract.ts'
import type { ContractTest } from './store-contract.ts'

const all = { limit: 100, offset: 0 }

export function describeFiles(contractTest: ContractTest): void {
  contractTest('keeps files of a message until its turn fails or its session is deleted', async (world) => {
    const userId = await world.createUser(1000)
    const session = await opened(world, userId)
    const { id: sessionId } = session
    const digest = { bytes: 3, sha256: 'abc' }
    const openWith = async () => {
      const file = {
        id: newId('pay', world.clock.now()),
        digest,
        mediaType: 'image/png',
        filename: 'a.png',
        tokens: 1024,
      }
      const turn = { ...draftTurn(world, session), files: [file] }
      expect(await world.store.openTurn(turn)).toMatchObject({ outcome: 'opened' })
      const { mediaType, filename, tokens } = file
      expect(await world.store.findPayload(file.id)).toEqual({
        id: file.id,
        digest,
        userId,
        sessionId,
        mediaType,
        filename,
        tokens,
      })
      return { id: file.id, turnId: turn.turnId }
    }
    const kept = await openWith()
    const file = { payloadId: kept.id, mediaType: 'image/png', filename: 'a.png', bytes: 3, tokens: 2, tokensMax: 3 }
    const parts = [
      { type: 'text' as const, text: 'One' },
      { type: 'file' as const, ...file },
      { type: 'text' as const, text: 'two' },
    ]
    const settled = finished(kept.turnId, 'One\ntwo')
    settled.exchange!.message.parts = parts
    await world.store.settleTurn(settled)
    expect(await world.store.listMessages({ userId, sessionId, ...all })).toMatchObject({
      messages: [{ content: 'One\ntwo', parts }, { parts: null }],
    })
    const { messages } = await world.store.readHistory({ sessionId, tokensMax: 1000 })
    expect(messages[0]).toEqual({ role: 'user', content: 'One\ntwo', parts })

    const failed = await openWith()
    await world.store.settleTurn({ ...finished(failed.turnId, ''), cost: 0, outcome: 'failed', exchange: null })
    expect(await world.store.findPayload(failed.id)).toBeUndefined()
    expect(await world.store.findPayload(kept.id)).toBeDefined()
    const deleted = await world.store.deleteSession({ userId, sessionId })
    expect(deleted).toEqual({ outcome: 'deleted', files: [kept.id] })
    expect(await world.store.listPayloads({ afterId: '', limit: 9 })).toEqual([])
  })

  contractTest('keeps no files of rejected, abandoned or sessionless turns', async (world) => {
    const { store } = world
    const userId = await world.createUser(1000)
    const session = await opened(world, userId)
    const draftWith = (changes: Partial<OpenTurn> = {}) => {
      const digest = { bytes: 3, sha256: 'abc' }
      const file = { id: newId('pay', world.clock.now()), digest, mediaType: 'image/png', filename: null, tokens: 1024 }
      return { ...draftTurn(world, session), ...changes, files: [file] }
    }
    const fileIds = async () => (await store.listPayloads({ afterId: '', limit: 9 })).map(({ id }) => id)
    const left = draftWith()
    const alone = draftWith({ sessionId: newId('ses', world.clock.now()), agentId: 'text' })
    for (const turn of [left, alone]) expect(await store.openTurn(turn)).toMatchObject({ outcome: 'opened' })
    const there = [left, alone].flatMap(({ files }) => files.map(({ id }) => id))
    expect((await fileIds()).toSorted()).toEqual(there.toSorted())
    expect(await store.openTurn(draftWith())).toMatchObject({ outcome: 'refused', reason: 'busy' })
    const dear = { sessionId: newId('ses', world.clock.now()), agentId: 'text', required: 5000 }
    expect(await store.openTurn(draftWith(dear))).toMatchObject({ outcome: 'refused', reason: 'balance' })
    expect((await fileIds()).toSorted()).toEqual(there.toSorted())
    await store.settleTurn({ ...finished(alone.turnId, ''), exchange: null })
    expect(await fileIds()).toEqual([left.files[0]!.id])
    expect(await store.closeAbandonedTurns()).toBe(1)
    expect(await fileIds()).toEqual([])
  })
}
