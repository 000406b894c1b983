import { beforeAll, expect, test } from 'vitest'
import { ofTier } from '../run/tiers.ts'
import { demandPart } from '../support/test-parts.ts'
import { faults } from './fault-list.ts'
import type { Fault, FaultReport } from './fault-report.ts'

const timeoutMs = 300_000
const atOnce = 2

/**
 * Defines a test for each fault with a short form in this tier. Faults mostly wait, so two run at a time, before the
 * tests that check their results.
 */
export function testShort(...names: (keyof typeof faults)[]): void {
  const timesOf = (name: keyof typeof faults) => ofTier(faults[name].times.small, faults[name].times.short)
  const made = names.filter((name) => timesOf(name) > 0)
  const reports = new Map<string, FaultReport>()
  const left = [...made]
  const makeNext = async () => {
    for (let name = left.shift(); name !== undefined; name = left.shift()) {
      const { run }: Fault = faults[name]
      reports.set(name, await run({ times: timesOf(name), isShort: true }))
    }
  }
  beforeAll(async () => void (await Promise.all(Array.from({ length: atOnce }, makeNext))), timeoutMs)
  for (const name of made) {
    test(`${name}: ${faults[name].what}`, (context) => {
      const report = reports.get(name)!
      expect(report.failures.join('\n'), report.notes.join('\n')).toBe('')
      if (report.missing) demandPart(context, report.missing.part, report.missing.reason)
      expect(report.held, 'tries that held').toBe(report.tries)
      expect(report.tries).toBeGreaterThan(0)
    })
  }
}
