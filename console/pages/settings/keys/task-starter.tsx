import type { Task } from '../../../../client/client.ts'
import { CopyText } from '../../../parts/copy-text.tsx'
import { PageLink } from '../../../parts/page-link.tsx'
import { useKeyNames } from './use-key-names.ts'

type Starter = NonNullable<Task['startedBy']>
type TaskStarterProps = {
  by: Starter
  /** Whether the key or token belongs to the reader, who can then open it. */
  isOwn?: boolean
}

const words: Record<Starter['kind'], string> = {
  key: 'API key',
  login: 'Browser login',
  clientToken: 'Client token',
  platformKey: 'Platform key',
}

export function TaskStarter({ by: { id, kind }, isOwn = false }: TaskStarterProps) {
  const keyNames = useKeyNames(isOwn && kind === 'key')
  if (id === undefined) return words[kind]
  if (!isOwn) {
    return (
      <>
        {words[kind]} <CopyText value={id} what={kind === 'key' ? 'key ID' : 'token ID'} />
      </>
    )
  }
  if (kind === 'clientToken') {
    return (
      <PageLink href="/settings/keys">
        {words[kind]} …{id.slice(-4)}
      </PageLink>
    )
  }
  return <PageLink href={`/settings/keys/${id}`}>{keyNames ? (keyNames.get(id) ?? id) : words[kind]}</PageLink>
}
