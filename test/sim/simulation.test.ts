import { expect, test } from 'vitest'
import { ofTier } from '../run/tiers.ts'
import type { SimReport } from './sim-report.ts'
import { simulate } from './simulate.ts'

// Random operations on the real app, with every invariant checked after each one. A failure prints its seed; repeat it
// with `npm run sim -- --seed S --ops N`.

const operations = ofTier(70, 2400)
const anySeed = Math.floor(Math.random() * 1_000_000_000)

function expectSound({ operations: byKind, restarts, seed, total, violation }: SimReport): void {
  const what = violation && `seed ${seed}: ${violation.what}\n${violation.steps.join('\n')}`
  expect(what).toBe(null)
  expect(total).toBeGreaterThan(0)
  expect(restarts).toBeGreaterThan(0)
  // A short run does not contain every kind of operation.
  expect(Object.keys(byKind).length).toBeGreaterThan(Math.min(20, total / 20))
}

// The small tier runs only the random seed above.
test.each(ofTier<number[]>([], [1, 2, 3]))(
  'seed %i: every invariant holds after every operation, across stops and crashes',
  async (seed) => {
    expectSound(await simulate({ seed, operations }))
  },
  300_000,
)

test(`random seed ${anySeed}: every invariant holds after every operation`, async () => {
  console.log(`simulation: the random seed is ${anySeed}`)
  expectSound(await simulate({ seed: anySeed, operations }))
}, 300_000)

test(`seed ${anySeed}, hostile: every model bill is charged, written off, or free because the provider failed`, async () => {
  const { models, seed, violation } = await simulate({
    seed: anySeed,
    operations: ofTier(20, 800),
    isHostile: true,
  })
  expect(violation && `seed ${seed}: ${violation.what}\n${violation.steps.join('\n')}`).toBe(null)
  expect(models?.turns).toBeGreaterThan(0)
}, 300_000)

test('every invariant holds if the service is a process killed with kill -9', async () => {
  expectSound(await simulate({ seed: 4, operations: ofTier(20, 400), inProcess: true }))
}, 300_000)
