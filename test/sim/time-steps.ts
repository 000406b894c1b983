import type { SimWorld } from './sim-world.ts'

const hourMs = 3_600_000
/**
 * Max time by which the machine's clock may be behind the service's, which then runs at half speed. It also keeps
 * stored times close enough for a restart to continue from them.
 */
const behindMsMax = 26 * hourMs

/** Advances time, a little or up to the edges of windows. */
export async function passStep(world: SimWorld): Promise<void> {
  const { random } = world
  const kind = random.pick(['ms', 'seconds', 'window', 'window', 'edge', 'block'] as const)
  const edge = oldestEdge(world)
  const ms = {
    ms: random.between(1, 999),
    seconds: random.between(1000, 30_000),
    window: random.between(59_000, 61_000),
    edge: edge + random.between(-1, 1),
    block: random.between(60_000, 700_000),
  }[kind]
  await move(world, { passMs: Math.max(0, ms), setMs: 0 })
}

function oldestEdge(world: SimWorld): number {
  const oldest = world.state.people.flatMap(({ executions }) =>
    executions.filter((at) => at > world.now - 60_000).slice(0, 1),
  )
  return oldest.length === 0 ? 60_000 : world.random.pick(oldest) + 60_000 - world.now
}

/** Sets the machine's clock forward or back by up to 25 hours. */
export async function setClockStep(world: SimWorld): Promise<void> {
  const { random, time } = world
  const behind = world.now - time.wall
  const isBack = behind < hourMs && random.chance(0.4)
  const ms = random.pick([25 * hourMs, random.between(1, 60_000), random.between(1, 25 * hourMs)])
  const setMs = isBack
    ? -Math.min(ms, behindMsMax - Math.max(0, behind))
    : behind > 0 && random.chance(0.6)
      ? behind + 1000
      : ms
  await move(world, { passMs: random.between(0, 1000), setMs })
}

/** Advances time until the service's clock shows exactly `at`. */
export async function passUntil(world: SimWorld, at: number): Promise<void> {
  const { time } = world
  const behind = world.now - time.wall
  if (behind > 0) await move(world, { passMs: 0, setMs: behind })
  if (at > world.now) await move(world, { passMs: at - world.now, setMs: 0 })
  world.checks.same(world.now, at, 'the time that has passed')
}

async function move(world: SimWorld, { passMs, setMs }: { passMs: number; setMs: number }): Promise<void> {
  const before = world.now
  if (setMs !== 0) world.clockMoves++
  await world.host.moveTime(passMs, setMs)
  const after = world.now
  world.note(`time passes by ${passMs} ms, the clock is set by ${setMs} ms: ${new Date(after).toISOString()}`)
  world.checks.that(after >= before, `time runs backwards by ${before - after} ms`)
  world.checks.that(setMs !== 0 || after - before <= passMs + 1, `${after - before} ms pass in ${passMs} ms`)
}
