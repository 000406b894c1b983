import { expect, test } from 'vitest'
import { Catalogue } from '../../server/agents/config/catalogue.ts'
import { defineConfig, type ErrandConfig } from '../../server/agents/config/define-config.ts'
import { limitsOf } from '../../server/store/limits/account-limits.ts'

const agents = [{ kind: 'code', id: 'echo', name: 'Echo' }] as const
const plansOf = (config: Omit<ErrandConfig, 'agents'>) => new Catalogue(defineConfig({ agents, ...config }), null).plans
const nothing = { executionsPerMinute: null, tasksAtWork: null, tasksWaiting: null, spendPerDay: null, agents: null }

const plans = plansOf({
  plans: {
    free: { executionsPerMinute: 2, tasksAtWork: 1, tasksWaiting: 5, spendPerDayUsd: '0.5', agents: ['echo'] },
    paid: { tasksAtWork: 8 },
  },
  defaultPlan: 'free',
})
const free = { executionsPerMinute: 2, tasksAtWork: 1, tasksWaiting: 5, spendPerDay: 5000, agents: ['echo'] }

test('an account has the limits of its plan, or else of the default plan', () => {
  expect(limitsOf({ plan: null, limits: null }, plans)).toEqual(free)
  expect(limitsOf({ plan: 'free', limits: null }, plans)).toEqual(free)
  expect(limitsOf({ plan: 'paid', limits: null }, plans)).toEqual({ ...nothing, tasksAtWork: 8 })
})

test('a plan missing from the configuration counts as the default plan', () => {
  for (const plan of ['gone', '', 'constructor', '__proto__'])
    expect(limitsOf({ plan, limits: null }, plans)).toEqual(free)
  expect(limitsOf({ plan: 'gone', limits: null }, plansOf({ plans: { paid: { tasksAtWork: 8 } } }))).toEqual(nothing)
})

test("a user's own limits override those of the plan and are parsed once", () => {
  const limits = JSON.stringify({ tasksAtWork: 3, spendPerDay: 70_000 })
  const ofFree = limitsOf({ plan: null, limits }, plans)
  expect(ofFree).toEqual({ ...free, tasksAtWork: 3, spendPerDay: 70_000 })
  expect(limitsOf({ plan: 'free', limits }, plans)).toBe(ofFree)
  expect(limitsOf({ plan: 'paid', limits }, plans)).toEqual({ ...nothing, tasksAtWork: 3, spendPerDay: 70_000 })
})

test('without plans an account has no plan limits', () => {
  expect(limitsOf({ plan: null, limits: null }, plansOf({}))).toEqual(nothing)
})

test.each([
  [{ plans: { free: { tasksAtWork: 0 } } }, 'plans.free.tasksAtWork: '],
  [{ plans: { free: { tasksWaiting: 1.5 } } }, 'plans.free.tasksWaiting: '],
  [{ plans: { free: { executionsPerMinute: -1 } } }, 'plans.free.executionsPerMinute: '],
  [{ plans: { free: { spendPerDayUsd: '-1' } } }, 'plans.free.spendPerDayUsd: must be a USD amount'],
  [{ plans: { free: { spendPerDayUsd: 5 } } }, 'plans.free.spendPerDayUsd: '],
  [{ plans: { free: { spendPerDay: '5' } } }, 'plans.free: '],
  [{ plans: { free: { agents: ['ghost'] } } }, 'plans.free.agents: "ghost" must be the id of an agent in agents'],
  [{ plans: { 'a b': {} } }, 'plans'],
  [{ plans: { free: {} }, defaultPlan: 'paid' }, 'defaultPlan: "paid" must be the name of a plan in plans'],
  [{ defaultPlan: 'constructor' }, 'defaultPlan: "constructor" must be the name of a plan in plans'],
])('rejects %j and names the field', (config, message) => {
  expect(() => plansOf(config as unknown as Omit<ErrandConfig, 'agents'>)).toThrow(message)
})
