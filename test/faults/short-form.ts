import { beforeAll, expect, test } from 'vitest'
import { faults } from './fault-list.ts'
import type { Fault, FaultReport } from './fault-report.ts'

const timeoutMs = 300_000
const atOnce = 2

/**
 * A test of the short form of each; one that this machine cannot make is skipped and says why. Most of a fault is waiting,
 * so two are made at a time, before the tests that look at what they found.
 */
export function testShort(...names: (keyof typeof faults)[]): void {
  const reports = new Map<string, FaultReport>()
  const left = [...names]
  const makeNext = async () => {
    for (let name = left.shift(); name !== undefined; name = left.shift()) {
      const { run, times }: Fault = faults[name]
      reports.set(name, await run({ times: times.short, isShort: true }))
    }
  }
  beforeAll(async () => void (await Promise.all(Array.from({ length: atOnce }, makeNext))), timeoutMs)
  for (const name of names) {
    test(`${name}: ${faults[name].what}`, (context) => {
      const report = reports.get(name)!
      expect(report.failures, report.notes.join('\n')).toEqual([])
      if (report.skipped !== undefined) context.skip(report.skipped)
      expect(report.held, 'tries that held').toBe(report.tries)
      expect(report.tries).toBeGreaterThan(0)
    })
  }
}
