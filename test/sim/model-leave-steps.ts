import { setTimeout as delay } from 'node:timers/promises'
import { checkTerminal, readToEnd } from './chat-ends.ts'
import { credentialOf, newModelSession, openGated, prepareRich, sessionsOf, type Gated } from './model-chats.ts'
import type { SimSession } from './sim-state.ts'
import type { SimWorld } from './sim-world.ts'

// Replies that end before the model call does. If the provider reports usage, the charges must match its bill exactly,
// otherwise up to the allowed difference between the two token counts.

/** Share of model calls that finish after the reply has ended, and report their usage. */
const lateShare = 0.8
/** Time to wait after the client has left, longer than the service keeps reading a call without hidden reasoning. */
const readOnMs = 900

type Ending = { chat: Gated; session: SimSession; how: 'leave' | 'stop' | 'delete'; isLate: boolean; waitMs: number }

/**
 * Ends chats by leaving, stopping the reply or deleting the session: before the provider answers, while it thinks, or
 * during its text.
 */
export async function modelLeaveStep(world: SimWorld): Promise<number> {
  const { random } = world
  const kind = random.pick(['model', 'fallback', 'exact', 'hidden'] as const)
  const count = random.between(1, 3)
  const person = await prepareRich(world, count)
  const isExact = kind === 'exact'
  const sessions = isExact ? [] : await sessionsOf(world, { count, agentId: kind, person })
  // Uses new sessions, because counting the earlier messages of existing ones is slow.
  while (sessions.length < count) sessions.push(await newModelSession(world, { person, agentId: 'model' }))
  const chats = await Promise.all(sessions.map((session) => openGated(world, session, { isExact })))
  // The service reads a call with hidden reasoning to its end, so that call must finish.
  const endings = chats.map((chat, n): Ending => ({
    chat,
    session: sessions[n]!,
    how: random.pick(['leave', 'leave', 'stop', 'stop', 'delete']),
    isLate: kind === 'hidden' || random.chance(lateShare),
    waitMs: kind === 'hidden' && random.chance(0.4) ? readOnMs : 0,
  }))
  await Promise.all(endings.map((ending) => end(world, ending)))
  await world.quiesce()
  for (const { id } of sessions) world.checkSessionRow(id)
  return count
}

async function end(world: SimWorld, { chat, how, isLate, session, waitMs }: Ending): Promise<void> {
  const { checks } = world
  const { gate, reader, turnId } = chat
  const credential = credentialOf(world.model.person(session.userId))
  let deleting: ReturnType<SimWorld['send']> | undefined
  if (how === 'leave') reader.leave()
  else if (how === 'stop') {
    const path = `/api/chat/${turnId}/stop`
    const { body, status } = await world.send({ kind: 'stop', method: 'POST', path, credential })
    checks.same(
      [status, body.turnId, body.stopped],
      [200, turnId, true],
      `a stop of ${turnId}, which is open: ${reader.text.slice(-300)}`,
    )
  } else {
    const path = `/api/sessions/${session.id}`
    deleting = world.send({ kind: 'delete', method: 'DELETE', path, credential })
  }
  if (waitMs > 0) await delay(waitMs)
  if (isLate) await world.openGate(gate, 'ok')
  if (how === 'leave') return
  const terminal = await readToEnd(world, reader)
  if (deleting) {
    checks.same((await deleting).status, 200, `the status of a deletion of ${session.id}`)
    session.isDeleted = true
    session.messageCount = 0
  } else checkTerminal(world, session, terminal)
  if (terminal.type === 'error') checks.same(terminal.error.code, 'AGENT_INTERRUPTED', `how ${turnId} ends by a ${how}`)
}
