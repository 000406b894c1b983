import { expect, test } from 'vitest'
import { ofTier } from '../../run/tiers.ts'
import { CannotRun, skipOrFail } from '../../support/test-parts.ts'
import type { SimReport } from '../sim-report.ts'
import { simulate } from '../simulate.ts'

// The simulation on PostgreSQL; each run has a new server. A failure prints its seed; repeat it with `npm run sim --
// --engine postgres --nodes N --seed S --ops N`.

const anySeed = Math.floor(Math.random() * 1_000_000_000)

function expectSound({ operations: byKind, restarts, seed, total, violation }: SimReport): void {
  const what = violation && `seed ${seed}: ${violation.what}\n${violation.steps.join('\n')}`
  expect(what).toBe(null)
  expect(total).toBeGreaterThan(0)
  expect(restarts).toBeGreaterThan(0)
  // A short run does not contain every kind of operation.
  expect(Object.keys(byKind).length).toBeGreaterThan(Math.min(20, total / 20))
}

test.for(
  ofTier(
    [{ nodes: 2, seed: anySeed, operations: 200 }],
    [
      { nodes: 1, seed: 1, operations: 500 },
      { nodes: 2, seed: anySeed, operations: 1000 },
    ],
  ),
)(
  'seed $seed, $nodes nodes on PostgreSQL: every invariant holds after every operation, across stops and crashes',
  { timeout: 300_000 },
  async ({ nodes, ...simulation }, context) => {
    try {
      expectSound(await simulate({ ...simulation, postgres: { nodes } }))
    } catch (error) {
      if (!(error instanceof CannotRun)) throw error
      skipOrFail(context, error)
    }
  },
)
