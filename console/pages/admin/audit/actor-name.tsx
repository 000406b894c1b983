import type { AuditAct } from '../../../../client/client.ts'
import { PageLink } from '../../../parts/page-link.tsx'
import { actorNames } from './audit-words.ts'

export function ActorName({ act: { actor, actorId } }: { act: AuditAct }) {
  if (actor === 'user' && actorId !== null) return <PageLink href={`/admin/users/${actorId}`}>{actorId}</PageLink>
  return `${actorNames[actor]}${actorId === null ? '' : ` ${actorId}`}`
}
