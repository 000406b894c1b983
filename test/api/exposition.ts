import { expect } from 'vitest'
import type { TestService } from '../support/test-service.ts'

/** Samples of a metrics page, by name with labels, such as `errand_tasks{status="pending"}`. */
export type Samples = ReadonlyMap<string, number>

const namePattern = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/
const samplePattern =
  /^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\["\\n])*",?)*\})? (NaN|[+-]Inf|[-+\d.e]+)$/
const suffixes = /_(?:bucket|sum|count)$/

/** Parses text format 0.0.4 strictly: every line must be a sample or one of the format's comments. */
export function readExposition(text: string): Samples {
  const samples = new Map<string, number>()
  const types = new Map<string, string>()
  const helps = new Set<string>()
  expect(text.endsWith('\n')).toBe(true)
  for (const line of text.trimEnd().split('\n')) {
    if (line === '') continue
    if (line.startsWith('#')) {
      const [, kind, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line) ?? []
      expect(name, line).toMatch(namePattern)
      if (kind === 'HELP') {
        expect(helps.has(name), `${name} has one HELP`).toBe(false)
        helps.add(name)
      } else {
        expect(['counter', 'gauge', 'histogram']).toContain(rest)
        types.set(name, rest)
        // By convention, only counters have names that end in _total.
        expect(name.endsWith('_total'), name).toBe(rest === 'counter')
      }
      continue
    }
    const [, name = '', labels = '', value = ''] = samplePattern.exec(line) ?? []
    expect(name, `a sample: ${line}`).not.toBe('')
    const isOfHistogram = types.get(name.replace(suffixes, '')) === 'histogram'
    expect(isOfHistogram || ['counter', 'gauge'].includes(types.get(name) ?? ''), `${name} has a type`).toBe(true)
    expect(samples.has(name + labels), `${name}${labels} stands once`).toBe(false)
    samples.set(name + labels, Number(value.replace('Inf', 'Infinity')))
  }
  expect([...types.keys()].filter((name) => !helps.has(name))).toEqual([])
  return samples
}

export async function readMetrics(service: TestService): Promise<Samples> {
  const { body, headers, status } = await service.get('/metrics')
  expect([status, headers.get('content-type')]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8'])
  return readExposition(body as string)
}

/** Returns the series that match `names` and changed between two readings, with the difference. */
export function moved(before: Samples, after: Samples, names: RegExp): Record<string, number> {
  const changes = [...after]
    .filter(([series]) => names.test(series))
    .map(([series, value]) => [series, Math.round((value - (before.get(series) ?? 0)) * 1e6) / 1e6] as const)
    .filter(([, by]) => by !== 0)
  return Object.fromEntries(changes)
}
