import type { ComponentProps } from 'react'
import { Disclosure } from '../../parts/disclosure.tsx'
import { Snippets } from '../../parts/snippets.tsx'

export function FormSnippets(props: ComponentProps<typeof Snippets>) {
  return <Disclosure label="Show code">{() => <Snippets {...props} />}</Disclosure>
}
