import { expectAccess } from './access-steps.ts'
import { readSessionStep, updateSessionStep } from './session-steps.ts'
import type { SimPerson } from './sim-state.ts'
import type { SimWorld } from './sim-world.ts'
import { createTaskStep, linkStep } from './task-steps.ts'
import { passUntil } from './time-steps.ts'

const dayMs = 86_400_000

/** A time at which something expires, and a request whose response differs before and after that time. */
type Edge = { at: number; ask: () => Promise<unknown> }

/** Moves the clock to one millisecond before an expiry and sends the request, then does the same at the expiry. */
export async function edgeStep(world: SimWorld): Promise<number> {
  const { now, random } = world
  const kind = random.pick([sessionEdges, blockEdges, repeatEdges, keyEdges, linkEdges])
  const edges = kind(world).filter(({ at }) => at > now)
  if (edges.length === 0) return 0
  const { ask, at } = random.pick(edges)
  await passUntil(world, at - 1)
  await world.quiesce()
  await ask()
  await world.quiesce()
  await passUntil(world, at)
  await ask()
  return 2
}

function sessionEdges(world: SimWorld): Edge[] {
  const { chats, random, state } = world
  const idle = [...state.sessions.values()].slice(-40).filter(({ id, isDeleted }) => !isDeleted && !chats.has(id))
  // Reads leave the session's expiry unchanged; updates move it.
  const isRead = random.chance(0.7)
  return idle.map((session) => ({
    at: session.activeAt + dayMs,
    ask: () => (isRead ? readSessionStep(world, session) : updateSessionStep(world, session)),
  }))
}

function blockEdges(world: SimWorld): Edge[] {
  return world.state.people.map((person) => ({
    at: person.blockedUntil,
    ask: () => createTaskStep(world, { person }),
  }))
}

/**
 * Returns edges of idempotency keys: a repeated request returns the first task within a day, and later creates a new
 * one.
 */
function repeatEdges(world: SimWorld): Edge[] {
  const { state } = world
  const repeatsOf = (person: SimPerson): Edge[] =>
    [...person.taskKeys.values()].slice(-10).map(({ at, taskId }) => ({
      at: at + dayMs,
      ask: () => createTaskStep(world, { person, asked: state.tasks.get(taskId)!.asked }),
    }))
  return state.people.flatMap(repeatsOf)
}

function keyEdges(world: SimWorld): Edge[] {
  return world.state.people.flatMap((person) =>
    person.keys
      .filter(({ isRevoked }) => !isRevoked)
      .map((key) => ({ at: key.expiresAt ?? -Infinity, ask: () => expectAccess(world, person, key) })),
  )
}

function linkEdges(world: SimWorld): Edge[] {
  return world.state.links.map((link) => ({ at: link.expiresAt, ask: () => linkStep(world, link) }))
}
