import { existsSync } from 'node:fs'
import { getUser } from '../../admin/manage-users.ts'
import { Catalogue } from '../../agents/config/catalogue.ts'
import { loadConfigFile } from '../../agents/config/load-config-file.ts'
import { changesOf, OwnLimitsInput } from '../../billing/limit-schema.ts'
import { resolveConfigFile } from '../../app/config.ts'
import { UsageError } from '../../kernel/usage-error.ts'
import { parseInput, type Common } from '../command-options.ts'
import { print } from '../open-store.ts'
import { findUserId, operator, withParts } from './operator.ts'

type Options = Common & { user: string; plan?: string; config?: string; force?: boolean }

/**
 * Rejects a plan that is not in the configuration, because the default plan would apply instead. `--force` allows it,
 * so that an operator can assign a plan before deploying its configuration.
 */
export async function setPlan(options: Options): Promise<void> {
  const limits = parseInput(OwnLimitsInput, withoutNone(options))
  const plan = options.plan === 'none' ? null : options.plan
  if (plan === undefined && Object.keys(limits).length === 0)
    throw new UsageError('No option was set. Set --plan or at least one limit.')
  if (plan !== undefined && plan !== null) await checkPlan(plan, options)
  const user = await withParts(options, async (parts) => {
    const userId = await findUserId(parts, options)
    const changes = changesOf(limits)
    await parts.store.changeAccountLimits({ userId, changes, ...(plan !== undefined && { plan }) })
    return await getUser(parts, { caller: operator, userId })
  })
  const own = Object.entries(user.limits).map(([name, value]) => `${name} ${String(value)}`)
  const ofPlan = user.plan === null ? 'the default plan' : `the plan ${user.plan}`
  print(options, user, `${user.email} has ${ofPlan}${own.length === 0 ? '' : `, overridden by ${own.join(', ')}`}.`)
}

function withoutNone(options: object): object {
  return Object.fromEntries(Object.entries(options).map(([name, value]) => [name, value === 'none' ? null : value]))
}

async function checkPlan(plan: string, { config, force = false }: Options): Promise<void> {
  const file = resolveConfigFile(config)
  if (!existsSync(file)) {
    process.stderr.write(
      `errand: warning: ${file} does not exist, so the plan "${plan}" was not checked. Set --config.\n`,
    )
    return
  }
  const { named } = new Catalogue(await loadConfigFile(file), null).plans
  if (named.has(plan)) return
  const message = `--plan: ${file} does not have the plan "${plan}". Its plans: ${[...named.keys()].join(', ') || 'none'}.`
  if (!force) throw new UsageError(`${message} Use one of them, or add --force.`)
  process.stderr.write(`errand: warning: ${message} The default plan applies until the file has a plan of that name.\n`)
}
