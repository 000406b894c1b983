import { startServer, type BenchServer, type ServerKind } from './bench-servers.ts'
import { drive } from './http-driver.ts'

type RoundSide<Result> = {
  kind: ServerKind
  env?: Record<string, string> | undefined
  round: (server: BenchServer) => Promise<Result>
}

/**
 * Measures several servers in short rounds, all of them in each round. Other load on the machine changes by a quarter
 * within seconds, and in short rounds it affects all servers alike.
 */
export async function pairedRounds<Name extends string, Result>(
  sides: Record<Name, RoundSide<Result>>,
  { rounds, template }: { template: string; rounds: number },
): Promise<Record<Name, Result[]>> {
  const running = await Promise.all(
    Object.entries<RoundSide<Result>>(sides).map(async ([name, { env = {}, kind, round }]) => {
      const server = await startServer(kind, { template, env })
      return { name, server, round }
    }),
  )
  try {
    const turns = running.map(({ name, round, server }) => [name, async () => await round(server)] as const)
    return await takeTurns<Name, Result>(Object.fromEntries(turns) as Record<Name, () => Promise<Result>>, rounds)
  } finally {
    await Promise.all(running.map(({ server }) => server.stop()))
  }
}

/**
 * Runs one round of each server, in an order that alternates between rounds. Discards the first round, which is a
 * warm-up.
 */
export async function takeTurns<Name extends string, Result>(
  sides: Record<Name, () => Promise<Result>>,
  rounds: number,
): Promise<Record<Name, Result[]>> {
  const running = Object.entries<() => Promise<Result>>(sides).map(([name, run]) => ({
    name,
    run,
    results: [] as Result[],
  }))
  for (let round = 0; round <= rounds; round++) {
    for (const { results, run } of round % 2 === 0 ? running : running.toReversed()) {
      const result = await run()
      if (round > 0) results.push(result)
    }
  }
  return Object.fromEntries(running.map(({ name, results }) => [name, results])) as Record<Name, Result[]>
}

type Side = { kind: ServerKind; requests: readonly Buffer[]; env?: Record<string, string> }

export type PairedRate = {
  perSecond: number
  p99Ms: number
  ratioTo: (other: PairedRate) => number
  rates: readonly number[]
}

type PairedRates = { template: string; connections: number; rounds: number; requestsPerRound: number }

export async function pairedRates<Name extends string>(
  sides: Record<Name, Side>,
  { connections, requestsPerRound, rounds, template }: PairedRates,
): Promise<Record<Name, PairedRate>> {
  const roundSides = Object.entries<Side>(sides).map(([name, { env, kind, requests }]) => {
    let sent = 0
    const round = async ({ url }: BenchServer): Promise<Round> => {
      const end = sent + requestsPerRound
      const next = () => (sent < end ? requests[sent++ % requests.length] : undefined)
      const driven = await drive({ url, connections, next, staysAwake: true })
      if (driven.statuses[200] !== driven.requests) throw new Error(`${name}: ${JSON.stringify(driven.statuses)}`)
      return driven
    }
    return [name, { kind, env, round }] as const
  })
  const results = await pairedRounds<Name, Round>(Object.fromEntries(roundSides) as Record<Name, RoundSide<Round>>, {
    rounds,
    template,
  })
  return Object.fromEntries(
    Object.entries<Round[]>(results).map(([name, ofSide]) => [name, toPairedRate(ofSide)]),
  ) as Record<Name, PairedRate>
}

type Round = { perSecond: number; p99Ms: number }

function toPairedRate(results: readonly Round[]): PairedRate {
  const rates = results.map(({ perSecond }) => perSecond)
  return {
    perSecond: median(rates),
    p99Ms: median(results.map(({ p99Ms }) => p99Ms)),
    ratioTo: (other) => medianRatio(rates, other.rates),
    rates,
  }
}

export function medianRatio(values: readonly number[], others: readonly number[]): number {
  return median(values.map((value, round) => value / others[round]!))
}

export function quartiles(values: readonly number[]): readonly [number, number] {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!
  return [at(0.25), at(0.75)]
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}
