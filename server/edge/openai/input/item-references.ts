import type { Caller } from '../../../procedures/caller.ts'
import type { OpenaiParts } from '../openai-parts.ts'
import type { TurnRecord } from '../../../store/sessions/turn-types.ts'
import { responseTurn } from '../responses/read-response.ts'
import { badParam } from '../wire-error.ts'
import { isObject } from './read-file-part.ts'

type Resolved = {
  items: readonly unknown[]
  hasReferences: boolean
  /** The session to continue: the one whose replies match the referenced ids exactly. Undefined if there is none. */
  sessionId: string | undefined
}

/**
 * Replaces item references with the stored replies. `@ai-sdk/openai` sends earlier replies as references. Throws 404
 * for an item that is not stored.
 */
export async function resolveReferences(
  parts: OpenaiParts,
  { caller, items }: { caller: Caller; items: readonly unknown[] },
): Promise<Resolved> {
  const turns = new Map<string, TurnRecord>()
  const resolved: unknown[] = []
  let hasReferences = false
  for (const [index, item] of items.entries()) {
    if (!isObject(item) || item['type'] !== 'item_reference') {
      resolved.push(item)
      continue
    }
    hasReferences = true
    const param = `input[${index}].id`
    const [, prefix, turn] = /^(msg|rs)_([0-9a-z]{1,60})(?:_\d+)?$/.exec(String(item['id'])) ?? []
    if (turn === undefined) throw badParam(param, 'Must be the id of an item in a stored response')
    // Skip reasoning, which agents do not receive, and further items of a reply that was already added as one string.
    if (prefix === 'rs' || turns.has(turn)) continue
    const { sessionId, turnId } = await keep(turn, param)
    const content = (await parts.store.readReply({ sessionId, turnId })) ?? ''
    resolved.push({ role: 'assistant', content })
  }
  return { items: resolved, hasReferences, sessionId: await continued() }

  async function keep(turn: string, param: string): Promise<TurnRecord> {
    const record = await responseTurn(parts, { caller, id: `resp_${turn}`, param })
    turns.set(turn, record)
    return record
  }

  async function continued(): Promise<string | undefined> {
    const named = [...turns.values()]
    const sessionId = named.at(-1)?.sessionId
    if (sessionId === undefined || named.some((turn) => turn.sessionId !== sessionId)) return undefined
    const { userId } = caller
    const session = await parts.store.getSession({ userId, sessionId })
    return session?.messageCount === 2 * named.length ? sessionId : undefined
  }
}
