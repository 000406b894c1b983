import type { Task } from '../../../../client/client.ts'
import { CopyText } from '../../../parts/copy-text.tsx'
import { PageLink } from '../../../parts/page-link.tsx'
import { useKeyNames } from './use-key-names.ts'

type TaskStarterProps = {
  task: Pick<Task, 'keyId' | 'startedBy'>
  /** Whether the key or token belongs to the reader, who can then open it. */
  isOwn?: boolean
}

const words: Record<NonNullable<Task['startedBy']>['kind'], string> = {
  login: 'Browser login',
  clientToken: 'Client token',
  platformKey: 'Platform key',
}

/** The credential that created a task. */
export function TaskStarter({ task: { keyId, startedBy }, isOwn = false }: TaskStarterProps) {
  const keyNames = useKeyNames(isOwn && keyId !== undefined)
  if (keyId !== undefined) {
    if (!isOwn) return <StarterId kind="API key" id={keyId} what="key ID" />
    return <PageLink href={`/settings/keys/${keyId}`}>{keyNames ? (keyNames.get(keyId) ?? keyId) : 'API key'}</PageLink>
  }
  if (!startedBy) return undefined
  const { id, kind } = startedBy
  if (id === undefined) return words[kind]
  if (!isOwn) return <StarterId kind={words[kind]} id={id} what="token ID" />
  return (
    <PageLink href="/settings/keys">
      {words[kind]} …{id.slice(-4)}
    </PageLink>
  )
}

function StarterId({ id, kind, what }: { id: string; kind: string; what: string }) {
  return (
    <>
      {kind} <CopyText value={id} what={what} />
    </>
  )
}
