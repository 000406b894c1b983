import { Anchor, type AnchorProps } from '@mantine/core'
import type { ReactNode } from 'react'
import { RouterLink } from './router-link.tsx'

export function PageLink(props: AnchorProps & { href: string; children: ReactNode }) {
  return <Anchor component={RouterLink} {...props} />
}
