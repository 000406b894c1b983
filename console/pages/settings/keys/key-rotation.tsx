import type { ReactNode } from 'react'
import type { Key } from '../../../../client/client.ts'
import { PageLink } from '../../../parts/page-link.tsx'

/** Labeled links to the key that replaced this one in a rotation, and to the key that this one replaced. */
export function rotationLinks({ id, replacedBy }: Key, keys: readonly Key[] = []): [label: string, link: ReactNode][] {
  const next = keys.find((key) => key.id === replacedBy)
  const previous = keys.find((key) => key.replacedBy === id)
  return [
    ['Replaced by', next && <KeyLink key="next" of={next} />],
    ['Replaces', previous && <KeyLink key="previous" of={previous} />],
  ]
}

function KeyLink({ of: { hint, id } }: { of: Key }) {
  return (
    <PageLink href={`/settings/keys/${id}`} inherit underline="always">
      …{hint}
    </PageLink>
  )
}
