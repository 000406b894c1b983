import type { ComponentProps } from 'react'
import { Link } from 'wouter'

/** Link within the console. Also works as `component={RouterLink}` of Mantine's buttons and anchors. */
export function RouterLink({ href, ...rest }: Omit<ComponentProps<'a'>, 'href'> & { href: string }) {
  return <Link href={href} {...rest} />
}
