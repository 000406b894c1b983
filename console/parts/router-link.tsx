import type { ComponentProps } from 'react'
import { Link } from 'wouter'

/** Link within the console; also for `component={RouterLink}` of Mantine buttons and anchors. */
export function RouterLink({ href, ...rest }: Omit<ComponentProps<'a'>, 'href'> & { href: string }) {
  return <Link href={href} {...rest} />
}
