import type { AuditAct } from '../../../../client/client.ts'
import { PageLink } from '../../../parts/page-link.tsx'
import classes from '../admin.module.css'
import { actorNames } from './audit-words.ts'

export function ActorName({ act: { actor, actorId } }: { act: AuditAct }) {
  if (actor === 'user' && actorId !== null) return <UserLink id={actorId} />
  return `${actorNames[actor]}${actorId === null ? '' : ` ${shortId(actorId)}`}`
}

export function UserLink({ id }: { id: string }) {
  return (
    <PageLink href={`/admin/users/${id}`}>
      <span title={id} className={classes.nowrap}>
        {shortId(id)}
      </span>
    </PageLink>
  )
}

function shortId(id: string): string {
  return `…${id.slice(-6)}`
}
