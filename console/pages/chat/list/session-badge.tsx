import type { SessionListItem } from '../../../../client/client.ts'
import { StatusBadge } from '../../../parts/status-badge.tsx'

const looks = { active: 'open', completed: 'closed', expired: 'expired' } as const

/** Session status. Only active sessions stand out. */
export function SessionBadge({
  isReplying = false,
  status,
}: Pick<SessionListItem, 'status'> & { isReplying?: boolean }) {
  return isReplying ? <StatusBadge status="processing" label="Replying" /> : <StatusBadge status={looks[status]} />
}
