import { Code, Text } from '@mantine/core'
import { memo } from 'react'
import { JsonTree } from '../../../parts/json-tree.tsx'
import type { ReplyPart, ToolUse } from '../transcript/live-reply.ts'
import { ReplyFold } from './reply-fold.tsx'
import { PlainText, ReplyText } from './reply-text.tsx'
import { ToolOutput } from './tool-output.tsx'

const reasoningCharsMax = 50_000
const count = new Intl.NumberFormat('en')

/** The parts of a reply in their original order: text, reasoning, and tool calls with their results. */
export function ReplyParts({ parts, isOpen }: { parts: readonly ReplyPart[]; isOpen: boolean }) {
  return parts.map((part, index) => {
    const isLast = isOpen && index === parts.length - 1
    // Parts are only appended and never move.
    // oxlint-disable-next-line react/no-array-index-key
    return <Part key={index} part={part} isGrowing={isLast} />
  })
}

const Part = memo(function Part({ part, isGrowing }: { part: ReplyPart; isGrowing: boolean }) {
  switch (part.kind) {
    case 'text':
      return <ReplyText text={part.text} />
    case 'reasoning':
      return <ReasoningFold text={part.text} isGrowing={isGrowing} />
    default:
      return <ToolFold use={part.use} />
  }
})

function ReasoningFold({ text, isGrowing }: { text: string; isGrowing: boolean }) {
  return (
    <ReplyFold title="Reasoning" aside={`${count.format(text.length)} characters`} isRunning={isGrowing}>
      <Text size="sm" c="dimmed">
        You are charged for reasoning, but it is not stored. It disappears when you leave this page.
      </Text>
      <Text component="div" size="sm">
        <PlainText text={text.slice(0, reasoningCharsMax)} />
      </Text>
      {text.length > reasoningCharsMax && (
        <Text size="sm" c="dimmed">
          Only the first {count.format(reasoningCharsMax)} characters are shown.
        </Text>
      )}
    </ReplyFold>
  )
}

function ToolFold({ use: { name, arguments: args, output } }: { use: ToolUse }) {
  const isRunning = output === undefined
  return (
    <ReplyFold
      title={
        <>
          Tool <Code>{name}</Code>
        </>
      }
      aside={isRunning ? 'Running' : output === null ? 'No result' : 'Done'}
      isRunning={isRunning}
    >
      <Text size="sm" fw={600}>
        Arguments
      </Text>
      <JsonTree value={args} what={`arguments of ${name}`} />
      {output && (
        <>
          <Text size="sm" fw={600}>
            Output
          </Text>
          <ToolOutput name={name} output={output} />
        </>
      )}
    </ReplyFold>
  )
}
