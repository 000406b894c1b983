import { setTimeout as delay } from 'node:timers/promises'
import { unitsOfUsd } from './chat-cost.ts'
import { checkTerminal, readToEnd } from './chat-ends.ts'
import { denseText, plainScript, someWords, type ModelScript } from './model-answers.ts'
import { open, openGated, peopleOf, prepare, prepareRich, sessionsOf, textOf, withTools } from './model-chats.ts'
import type { ExpectedTurn } from './sim-state.ts'
import { ownTool, toolServerKinds } from './sim-tool-server.ts'
import type { SimWorld } from './sim-world.ts'

// Chats with a model whose provider keeps its own bill. Every user here is hostile.

/** Share of calls for which the provider reports no usage, or zeros. */
const uncountedShare = 0.04
const chatKinds = [
  'plain',
  'plain',
  'plain',
  'plain',
  'short',
  'overruns',
  'overcounts',
  'again',
  'fails',
  'fails',
  'refused',
] as const

export async function modelChatStep(world: SimWorld): Promise<number> {
  const { random } = world
  const person = await prepareRich(world, 1)
  const agentId = random.pick(['model', 'fallback'] as const)
  const [session] = await sessionsOf(world, { count: 1, agentId, person })
  const { density, text } = denseText(random, random.pick([20, 200, 4000]))
  const kind = random.chance(uncountedShare) ? 'untold' : random.pick(chatKinds)
  const own: Partial<ModelScript> = {
    plain: {},
    untold: { usage: random.pick(['never', 'zero', 'zero'] as const), hidden: 0 },
    short: { hidden: 10, shown: '' },
    overruns: { hidden: random.between(1000, 3000), overruns: true },
    overcounts: { overcounts: random.between(2000, 8000) },
    again: { refused: { status: random.pick([429, 500, 503]), times: random.between(1, 2) } },
    fails: random.chance(0.3)
      ? { refused: { status: 500, times: 9 } }
      : { breaks: random.pick(['cut', 'error', 'told'] as const), text: someWords(random, 8) },
    refused: { refused: { status: random.pick([400, 413, 422]), times: 1 } },
  }[kind]
  const last = plainScript(random, { density, ...own })
  const scripts = kind === 'short' ? [last] : withTools(world, { density, last })
  const outcomes: ExpectedTurn['outcomes'] = kind === 'fails' || kind === 'refused' ? ['failed'] : ['finished']
  const mayFail = kind === 'fails'
  const expected = { outcomes, ...(kind !== 'short' && outcomes[0] === 'finished' && { text: textOf(scripts) }) }
  const isShort = kind === 'short' && { maxTokens: random.between(12, 20) }
  const { reader } = await open(world, { session: session!, scripts, text, expected, mayFail, ...isShort })
  world.checks.same(reader.status, 200, `the status of a chat with a model in ${session!.id}`)
  const terminal = await readToEnd(world, reader)
  checkTerminal(world, session!, terminal)
  const code = terminal.error?.code
  world.checks.same(code, outcomes[0] === 'failed' ? 'AGENT_ERROR' : undefined, `how a model that is ${kind} ends`)
  world.checkSessionRow(session!.id)
  return 1
}

/**
 * Opens a chat that waits at a gate until it continues, its client leaves, its session is deleted or the service stops.
 */
export async function holdModelStep(world: SimWorld): Promise<number> {
  const person = await prepareRich(world, 1)
  const [session] = await sessionsOf(world, { count: 1, person })
  const { gate, node, reader } = await openGated(world, session!)
  const expected = world.model.expectedTurns.get(session!.id)!
  world.model.expectedTurns.set(session!.id, { ...expected, outcomes: ['finished'] })
  const readLines = reader.events.length
  world.chats.set(session!.id, { reader, gate, person, sessionId: session!.id, readLines, node })
  return 1
}

/** Runs concurrent chats of a user who can pay for only some of them. Each byte of their prompts may be a token. */
export async function modelBurst(world: SimWorld): Promise<number> {
  const { checks, random } = world
  const { poor } = peopleOf(world)
  const count = random.between(2, 8)
  await prepare(world, poor, { chats: count, free: random.between(300, 4000) })
  const sessions = await sessionsOf(world, { count, person: poor })
  // Uses one node, because a chat waits only for a random time for amounts held on other nodes.
  const node = world.anyNode()
  world.note(`${count} chats of the poor ${poor.userId} with models at once`)
  await Promise.all(
    sessions.map(async (session) => {
      const { density, text } = denseText(random, random.pick([20, 400, 3000]))
      const overruns = random.chance(0.3)
      const hidden = overruns ? random.between(2000, 8000) : random.between(0, 1500)
      const overcounts = random.chance(0.2) ? random.between(2000, 8000) : 0
      const last = plainScript(random, { density, overruns, hidden, overcounts })
      const scripts = withTools(world, { density, last })
      const expected: ExpectedTurn = { outcomes: ['finished', 'truncated', 'failed'] }
      const leaves = random.chance(0.25)
      const { reader } = await open(world, { session, scripts, text, expected, node })
      checks.that([200, 403].includes(reader.status), `a chat of ${count} with models at once got ${reader.status}`)
      if (leaves) reader.leave()
      else await reader.all()
    }),
  )
  await world.quiesce()
  for (const { id } of sessions) world.checkSessionRow(id)
  return count
}

/** Makes the model call a tool on the person's own server, which may misbehave. */
export async function ownToolStep(world: SimWorld): Promise<number> {
  const { checks, random } = world
  const kind = random.pick(toolServerKinds)
  const person = await prepareRich(world, 1)
  const [session] = await sessionsOf(world, { count: 1, kind, person })
  // Prompts may have one token per byte, except with large tool descriptions.
  const density = kind === 'wordy' ? 4 : random.pick([1, 1.5, 4] as const)
  const scripts = [plainScript(random, { density, calls: [ownTool] }), plainScript(random, { density })]
  const isBad = kind === 'drops' || kind === 'garbage' || kind === 'hangs'
  const expected: ExpectedTurn = isBad ? { outcomes: ['truncated'] } : { outcomes: ['finished'], text: textOf(scripts) }
  const { reader } = await open(world, { session: session!, scripts, text: 'Use it.', expected })
  checks.same(reader.status, 200, `the status of a chat with a server that ${kind}`)
  if (kind === 'hangs') {
    await reader.until('tool_call')
    reader.leave()
    await world.quiesce()
  } else {
    const terminal = await readToEnd(world, reader)
    checkTerminal(world, session!, terminal)
    checks.same(terminal.type, isBad ? 'error' : 'done', `the end of a chat with a server that ${kind}`)
  }
  world.checkSessionRow(session!.id)
  return 1
}

const metricName = 'errand_chat_written_off_usd_total'

async function writtenOffByMetrics(world: SimWorld): Promise<number> {
  let sum = 0
  for (const node of world.allNodes()) {
    const { text } = await world.at(node).client.send({ path: '/metrics' })
    for (const line of text.split('\n')) {
      if (line.startsWith(metricName)) sum += unitsOfUsd(line.slice(line.lastIndexOf(' ')))
    }
  }
  return sum
}

/** Metrics restart at zero with the service. */
export async function metricsBegin(world: SimWorld): Promise<void> {
  world.writtenOffBefore = world.audit.writtenOff() - (await writtenOffByMetrics(world))
}

export async function checkModelMoney(world: SimWorld): Promise<void> {
  const { audit, bills, checks } = world
  bills.check(audit.seen)
  const until = performance.now() + 2000
  const expected = () => audit.writtenOff() - world.writtenOffBefore
  while ((await writtenOffByMetrics(world)) !== expected() && performance.now() < until) {
    await delay(5)
    world.refresh()
  }
  checks.same(await writtenOffByMetrics(world), expected(), metricName)
  const credential = await world.adminCredential()
  for (const { userId } of Object.values(peopleOf(world))) {
    const { body } = await world.send({ kind: 'user', path: `/api/users/${userId}`, credential })
    checks.same(unitsOfUsd(body.writtenOffUsd), audit.writtenOff(userId), `what is written off of ${userId}`)
  }
}
