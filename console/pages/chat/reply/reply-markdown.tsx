import { Anchor } from '@mantine/core'
import { ExternalLinkIcon } from '@radix-ui/react-icons'
import { memo, useId, useMemo, type ReactNode } from 'react'
import Markdown, { type Components } from 'react-markdown'
import remarkGfm from 'remark-gfm'
import { CodeBlock } from '../../../parts/code/code-block.tsx'
import classes from './reply-markdown.module.css'

const plugins = [remarkGfm]

/** Renders headings of a reply below the heading of its message, whatever their Markdown level. */
const heading =
  (level: number) =>
  ({ children }: { children?: ReactNode }) => (
    <h3 className={classes.heading} data-level={level}>
      {children}
    </h3>
  )

/** Shows HTML as text, and images as links, because the page must not load anything from other hosts. */
const components: Components = {
  a: ({ children, href = '' }) => <ReplyLink href={href}>{children}</ReplyLink>,
  img: ({ alt, src }) => <ReplyLink href={typeof src === 'string' ? src : ''}>Image{alt ? `: ${alt}` : ''}</ReplyLink>,
  pre: ({ node }) => {
    const code = node?.children[0]
    const text = code?.type === 'element' && code.children[0]?.type === 'text' ? code.children[0].value : ''
    return <CodeBlock code={text.replace(/\n$/, '')} label="code" />
  },
  table: ({ children }) => (
    <div className={classes.table} tabIndex={0} role="group" aria-label="Table">
      <table>{children}</table>
    </div>
  ),
  input: ({ checked }) => (
    <span role="img" aria-label={checked === true ? 'Done' : 'Not done'}>
      {checked === true ? '☑' : '☐'}
    </span>
  ),
  h1: heading(1),
  h2: heading(2),
  h3: heading(3),
  h4: heading(4),
  h5: heading(5),
  h6: heading(6),
}

/** Renders a Markdown block from an agent. The content is untrusted. */
export const ReplyMarkdown = memo(function ReplyMarkdown({ text }: { text: string }) {
  const id = useId()
  const ofFootnotes = useMemo(() => ({ clobberPrefix: `${id}-`, footnoteLabelTagName: 'h3' }), [id])
  return (
    <div className={classes.markdown}>
      <Markdown remarkPlugins={plugins} remarkRehypeOptions={ofFootnotes} components={components}>
        {text}
      </Markdown>
    </div>
  )
})

function ReplyLink({ href, children }: { href: string; children: ReactNode }) {
  if (href.startsWith('#')) return <a href={href}>{children}</a>
  // A URL without a host would lead to a page of this console.
  if (!/^(?:https?:\/\/|mailto:)/i.test(href)) return <span>{children}</span>
  return (
    <Anchor inherit underline="always" href={href} target="_blank" rel="noopener noreferrer nofollow">
      {children}
      <ExternalLinkIcon className={classes.external} role="img" aria-label="(opens in a new tab)" />
    </Anchor>
  )
}
