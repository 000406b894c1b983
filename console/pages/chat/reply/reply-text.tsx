import { Button, Group, Text } from '@mantine/core'
import { memo, startTransition, Suspense, useMemo, useState } from 'react'
import { lazyPart } from '../../../app/load-part.ts'
import { CodeBlock } from '../../../parts/code/code-block.tsx'
import { splitBlocks, type MarkdownBlock } from './markdown-blocks.ts'
import classes from './reply-text.module.css'

const ReplyMarkdown = lazyPart(async () => (await import('./reply-markdown.tsx')).ReplyMarkdown)

const firstChars = 40_000
const moreChars = 60_000
const count = new Intl.NumberFormat('en')

/** Text of a reply. If it is very long, initially renders only its start, to keep the page fast. */
export const ReplyText = memo(function ReplyText({ text }: { text: string }) {
  const [shownMax, setShownMax] = useState(firstChars)
  const shown = text.length > shownMax ? text.slice(0, shownMax).toWellFormed() : text
  const blocks = useMemo(() => splitBlocks(shown), [shown])
  return (
    <div className={classes.text}>
      {blocks.map((block, index) => (
        // Blocks are only appended and never move.
        // oxlint-disable-next-line react/no-array-index-key
        <Block key={index} block={block} />
      ))}
      {text.length > shownMax && (
        <Group gap="xs" mt={4}>
          <Text size="sm" c="dimmed" className="tabular">
            The first {count.format(shownMax)} of {count.format(text.length)} characters
          </Text>
          <Button
            size="compact-sm"
            variant="default"
            onClick={() => startTransition(() => setShownMax(shownMax + moreChars))}
          >
            Show more
          </Button>
        </Group>
      )}
    </div>
  )
})

function Block({ block }: { block: MarkdownBlock }) {
  if (block.kind === 'code') {
    return <CodeBlock code={block.text} label={block.language ? `${block.language} code` : 'code'} />
  }
  if (block.kind === 'plain') return <PlainText text={block.text} />
  return (
    <Suspense fallback={<PlainText text={block.text} />}>
      <ReplyMarkdown text={block.text} />
    </Suspense>
  )
}

export function PlainText({ text }: { text: string }) {
  return <div className={classes.plain}>{text}</div>
}
