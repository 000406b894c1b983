import { listAudit } from '../admin/audit-router.ts'
import { ListAuditInput } from '../admin/audit-schema.ts'
import { findUserId, withParts } from './accounts/operator.ts'
import { parseInput, type Common } from './command-options.ts'
import { print } from './open-store.ts'

export async function auditList(options: Common & { user?: string }): Promise<void> {
  const { user } = options
  const input = parseInput(ListAuditInput, options)
  const page = await withParts(options, async (parts) => {
    const of = user === undefined ? {} : { userId: await findUserId(parts, { user }) }
    return await listAudit(parts.store, { ...input, ...of })
  })
  const lines = page.acts.map((act) => {
    const actor = act.actorId === null ? act.actor : `${act.actor} ${act.actorId}`
    return [act.createdAt, act.action, act.userId ?? '-', `by ${actor}`, act.client ?? '-', act.change].join('  ')
  })
  const rest = page.next === undefined ? [] : [`next page: --after ${page.next}`]
  print(options, page, [...lines, ...rest].join('\n') || 'None.')
}
