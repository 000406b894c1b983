import type { ComponentProps } from 'react'
import { Link } from 'wouter'

/** A link to another page of the console; also as `component={RouterLink}` of Mantine's buttons and anchors. */
export function RouterLink({ href, ...rest }: Omit<ComponentProps<'a'>, 'href'> & { href: string }) {
  return <Link href={href} {...rest} />
}
