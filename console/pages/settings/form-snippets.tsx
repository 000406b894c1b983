import type { ComponentProps } from 'react'
import { Disclosure } from '../../parts/disclosure.tsx'
import { Snippets } from '../../parts/snippets.tsx'

/** What a form is about to send, from code. */
export function FormSnippets(props: ComponentProps<typeof Snippets>) {
  return <Disclosure label="The same from code">{() => <Snippets {...props} />}</Disclosure>
}
