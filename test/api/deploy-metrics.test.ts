import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ServiceMetrics } from '../../server/admin/metrics/service-metrics.ts'
import { root } from '../pins/read-imports.ts'
import { missingCommand, testNeeding } from '../support/test-needing.ts'
import { startService } from '../support/test-service.ts'
import { readExposition, type Samples } from './exposition.ts'

const alertsFile = join(root, 'deploy/prometheus-alerts.yml')
const dashboard = JSON.parse(readFileSync(join(root, 'deploy/grafana-dashboard.json'), 'utf8')) as {
  panels: { id: number; title: string; targets?: { expr: string; legendFormat: string }[] }[]
}
const alerts = Array.from(readFileSync(alertsFile, 'utf8').matchAll(/^\s+expr: (.+)$/gm), ([, expr = '']) => expr)
const targets = dashboard.panels.flatMap(({ targets: all = [] }) => all)

/** Labels that Prometheus adds to every series. */
const added = ['job', 'instance']

/** Returns the labels of every metric by name, including the parts of histograms. */
function labelsOf(...pages: readonly Samples[]): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>([['up', new Set(added)]])
  for (const sample of pages.flatMap((page) => [...page.keys()])) {
    const [, name = '', labels = ''] = /^(\w+)(?:\{(.*)\})?$/.exec(sample) ?? []
    const known = found.get(name) ?? new Set(added)
    for (const [, label = ''] of labels.matchAll(/(\w+)="/g)) known.add(label)
    found.set(name, known)
  }
  return found
}

/** Returns the metrics and labels in an expression that do not exist. */
function unknownIn(expr: string, known: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const bare = expr.replaceAll(/\[[^\]]*\]/g, '')
  const selectors = [...bare.matchAll(/\b((?:errand|process|nodejs)_\w+|up)(?:\{([^}]*)\})?/g)]
  const names = selectors.map(([, name = '']) => name)
  const grouped = Array.from(bare.matchAll(/\b(?:by|on) \(([^)]*)\)/g), ([, labels = '']) => labels.split(', ')).flat()
  return [
    ...(names.length === 0 ? ['no metric'] : []),
    ...names.filter((name) => !known.has(name)),
    ...selectors.flatMap(([, name = '', matchers = '']) =>
      Array.from(matchers.matchAll(/(\w+)(?:=~|!=|=)"/g), ([, label = '']) => label).filter(
        (label) => !known.get(name)?.has(label),
      ),
    ),
    ...grouped.filter((label) => !names.some((name) => known.get(name)?.has(label))),
  ]
}

test('the dashboard and the alert rules use only metrics and labels that the service has', async () => {
  // Creates the series that a new service does not have yet.
  const metrics = new ServiceMetrics(['a'])
  const use = { promptTokens: 1, completionTokens: 1, reasoningTokens: 0, toolCalls: 0, charged: 1, writtenOff: 0 }
  metrics.taskTaken(1)
  metrics.taskRun({ agentId: 'a', end: 'completed', code: '', seconds: 1, charged: 1, providerCost: 1 })
  metrics.chatRun({ agentId: 'a', end: 'finished', seconds: 1, ...use, providerCost: 1 })
  metrics.committed({ isDurable: true, startedAt: 0, commands: 1, syncMs: 0 })
  const service = await startService()
  await service.get('/healthz')
  const page = (await service.get('/metrics')).body as string
  const known = labelsOf(readExposition(await metrics.read()), readExposition(page))
  await service.stop()
  // The results of the first check of the ledger are missing until it ends.
  for (const [, name = ''] of page.matchAll(/^# HELP (errand_ledger_\w+)/gm)) known.set(name, new Set(added))

  expect(alerts.length).toBeGreaterThan(8)
  expect(targets.length).toBeGreaterThan(30)
  const all = [...alerts, ...targets.map(({ expr }) => expr)]
  expect(
    all.map((expr) => ({ expr, unknown: unknownIn(expr, known) })).filter(({ unknown }) => unknown.length > 0),
  ).toEqual([])
  const legends = targets.flatMap(({ expr, legendFormat }) =>
    Array.from(legendFormat.matchAll(/\{\{(\w+)\}\}/g), ([, label = '']) => ({ expr, label })),
  )
  expect(legends.filter(({ expr, label }) => !new RegExp(`\\b${label}\\b`).test(expr))).toEqual([])
  // Every metric of the service's own is on the dashboard.
  const shown = new Set(all.flatMap((expr) => Array.from(expr.matchAll(/errand_\w+/g), ([name]) => name)))
  const own = [...known.keys()].filter((name) => name.startsWith('errand_') && !/_(?:sum|count)$/.test(name))
  expect(own.filter((name) => !shown.has(name))).toEqual([])
  expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length)
})

testNeeding('promtool', missingCommand('promtool', '--version'))('promtool accepts the alert rules', () => {
  const checked = execFileSync('promtool', ['check', 'rules', alertsFile], { encoding: 'utf8' })
  expect(checked).toContain(`${alerts.length} rules found`)
})
