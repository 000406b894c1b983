import { expect, test } from 'vitest'
import { CannotRun } from '../faults/fault-report.ts'
import type { SimReport } from './sim-report.ts'
import { simulate, type Simulation } from './simulate.ts'

// The simulation on PostgreSQL, whose server is started for each. A failure prints its seed; repeat it with
// `npm run sim -- --engine postgres --nodes N --seed S --ops N`.

const anySeed = Math.floor(Math.random() * 1_000_000_000)

async function run(simulation: Simulation): Promise<SimReport | { skipped: string }> {
  try {
    return await simulate(simulation)
  } catch (error) {
    if (error instanceof CannotRun) return { skipped: error.message }
    throw error
  }
}

function expectSound({ operations: byKind, restarts, seed, total, violation }: SimReport): void {
  const what = violation && `seed ${seed}: ${violation.what}\n${violation.steps.join('\n')}`
  expect(what).toBe(null)
  expect(total).toBeGreaterThan(0)
  expect(restarts).toBeGreaterThan(0)
  expect(Object.keys(byKind).length).toBeGreaterThan(20)
}

test.for([
  { nodes: 1, seed: 1, operations: 500 },
  { nodes: 2, seed: anySeed, operations: 1000 },
])(
  'seed $seed, $nodes nodes on PostgreSQL: every invariant holds after every operation, over stops and crashes',
  { timeout: 300_000 },
  async ({ nodes, ...simulation }, context) => {
    const report = await run({ ...simulation, postgres: { nodes } })
    if ('skipped' in report) return void context.skip(report.skipped)
    expectSound(report)
  },
)
