import { listAudit } from '../admin/audit-router.ts'
import { ListAuditInput } from '../admin/audit-schema.ts'
import { parseInput, type Common } from './command-options.ts'
import { print, withStore } from './open-store.ts'

export async function auditList(options: Common): Promise<void> {
  const input = parseInput(ListAuditInput, options)
  const page = await withStore(options, (store) => listAudit(store, input))
  const lines = page.acts.map((act) => {
    const actor = act.actorId === null ? act.actor : `${act.actor} ${act.actorId}`
    return [act.createdAt, act.action, act.userId ?? '-', `by ${actor}`, act.client ?? '-', act.change].join('  ')
  })
  const rest = page.next === undefined ? [] : [`next page: --after ${page.next}`]
  print(options, page, [...lines, ...rest].join('\n') || 'None.')
}
