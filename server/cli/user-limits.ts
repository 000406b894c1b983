import { existsSync } from 'node:fs'
import { z } from 'zod'
import { Catalogue } from '../agents/config/catalogue.ts'
import { loadConfigFile } from '../agents/config/load-config-file.ts'
import { changesOf, OwnLimitsInput, toOwnLimits } from '../billing/limit-schema.ts'
import { resolveConfigFile } from '../app/config.ts'
import { UsageError } from '../kernel/usage-error.ts'
import { listOf } from './key-commands.ts'
import { findUserOrFail, print, withStore } from './open-store.ts'

type Options = {
  data?: string
  json?: boolean
  email: string
  plan?: string
  executionsPerMinute?: string
  tasksAtWork?: string
  tasksWaiting?: string
  spendPerDay?: string
  agents?: string
  config?: string
  force?: boolean
}

/**
 * Sets a user's plan and own limits. Rejects a plan that is missing in the configuration, because the default plan
 * would apply instead, unless forced. Forcing allows setting a plan before its configuration is deployed.
 */
export async function setPlan(options: Options): Promise<void> {
  const limits = readLimits(options)
  const plan = options.plan === 'none' ? null : options.plan
  if (plan === undefined && Object.keys(limits).length === 0) throw new UsageError('Set --plan or a limit.')
  if (plan !== undefined && plan !== null) await checkPlan(plan, options)
  const user = await withStore(options, async (store) => {
    const { id: userId } = await findUserOrFail(store, options.email)
    await store.changeAccountLimits({ userId, changes: changesOf(limits), ...(plan !== undefined && { plan }) })
    return (await store.getUser(userId))!
  })
  const shown = { userId: user.id, plan: user.plan, limits: toOwnLimits(user.limits) }
  const own = Object.entries(shown.limits).map(([name, value]) => `${name} ${String(value)}`)
  const ofPlan = shown.plan === null ? 'the default plan' : `the plan ${shown.plan}`
  print(options, shown, `${options.email} has ${ofPlan}${own.length === 0 ? '' : `, overridden by ${own.join(', ')}`}.`)
}

async function checkPlan(plan: string, { config, force = false }: Options): Promise<void> {
  const file = resolveConfigFile(config)
  if (!existsSync(file)) {
    process.stderr.write(
      `errand: warning: ${file} does not exist, so the plan "${plan}" was not checked. Set --config.\n`,
    )
    return
  }
  const { named } = new Catalogue(await loadConfigFile(file)).plans
  if (named.has(plan)) return
  const message = `${file} has no plan "${plan}"; its plans are ${[...named.keys()].join(', ') || 'none'}.`
  if (!force) throw new UsageError(`${message} Use one of them, or --force.`)
  process.stderr.write(`errand: warning: ${message} The default plan applies until the file has a plan of that name.\n`)
}

function readLimits({ agents, executionsPerMinute, spendPerDay, tasksAtWork, tasksWaiting }: Options) {
  const numbers = { executionsPerMinute, tasksAtWork, tasksWaiting }
  const given = Object.entries({
    ...Object.fromEntries(Object.entries(numbers).map(([name, text]) => [name, text && unlessNone(text, Number)])),
    spendPerDayUsd: spendPerDay && unlessNone(spendPerDay, String),
    agents: agents && unlessNone(agents, listOf),
  }).filter(([, value]) => value !== undefined)
  const parsed = OwnLimitsInput.safeParse(Object.fromEntries(given))
  if (!parsed.success) throw new UsageError(z.prettifyError(parsed.error).replaceAll(/\s*\n\s*/g, ' '))
  return parsed.data
}

function unlessNone<Value>(text: string, read: (text: string) => Value): Value | null {
  return text === 'none' ? null : read(text)
}
