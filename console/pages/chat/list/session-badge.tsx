import type { Session } from '../../../../client/client.ts'
import { StatusBadge } from '../../../parts/status-badge.tsx'

const looks = { active: 'open', completed: 'closed', expired: 'expired' } as const

/** The state of a session: only one that goes on stands out. */
export function SessionBadge({ status }: Pick<Session, 'status'>) {
  return <StatusBadge status={looks[status]} />
}
