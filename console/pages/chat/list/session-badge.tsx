import type { Session } from '../../../../client/client.ts'
import { StatusBadge } from '../../../parts/status-badge.tsx'

const looks = { active: 'open', completed: 'closed', expired: 'expired' } as const

/** Session state; only active sessions stand out. */
export function SessionBadge({ status }: Pick<Session, 'status'>) {
  return <StatusBadge status={looks[status]} />
}
