import { Anchor, type AnchorProps } from '@mantine/core'
import type { ReactNode } from 'react'
import { RouterLink } from './router-link.tsx'

/** A link to another page of the console in the look of a text link. */
export function PageLink(props: AnchorProps & { href: string; children: ReactNode }) {
  return <Anchor component={RouterLink} {...props} />
}
