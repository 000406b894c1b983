import { Box, Button, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { CopyButton } from '../../parts/copy-button.tsx'
import { JsonTree } from '../../parts/json-tree.tsx'
import { KeyValueList } from '../../parts/key-value-list.tsx'
import { ToolOutput } from '../chat/reply/tool-output.tsx'
import { ReplyText } from '../chat/reply/reply-text.tsx'
import { PayloadTable, ScalarText, ShowMore, useRows } from './payload-table.tsx'
import {
  columnsOf,
  isFields,
  isLine,
  isNothing,
  isScalar,
  isSmall,
  isToolResult,
  type Fields,
} from './payload-shape.ts'
import classes from './task.module.css'

const fieldsMax = 50
const charsStep = 20_000
/** Matches text with a Markdown heading, table, fenced code or several list items. */
const markdown = /^#{1,6} \S|^\|? *:?-{3,}:? *\||^```|^[*-] .+\n[*-] /m
const picture = /^data:image\/(?:png|jpeg|gif|webp);base64,[\w+/]+=*$/
/** Maximum nesting of readable values. Deeper and larger values are shown as a tree. */
const depthMax = 4

type PartProps = { value: unknown; what: string; depth: number }

/**
 * Readable view of a result. Text keeps its line breaks, lists may become tables, and empty values are shown as words.
 */
export function PayloadView({ value, what }: { value: unknown; what: string }) {
  if (isNothing(value)) return <Text c="dimmed">{emptyText(value)}</Text>
  if (isToolResult(value)) return <ToolOutput name={what} output={value} />
  return <PartView value={value} what={what} depth={0} />
}

function emptyText(value: unknown): string {
  if (value === '') return 'Empty string'
  return Array.isArray(value) ? 'Empty list' : 'No fields'
}

function PartView({ value, what, depth }: PartProps) {
  if (typeof value === 'string' && picture.test(value))
    return <img className={classes.picture} src={value} alt={what} />
  if (isLine(value)) {
    return (
      <Text className={classes.inline}>
        <ScalarText value={value} />
      </Text>
    )
  }
  if (typeof value === 'string') return <TextView text={value} what={what} />
  if (Array.isArray(value)) return <ListView list={value} what={what} depth={depth} />
  const isOpen = isFields(value) && Object.keys(value).length <= fieldsMax && (depth === 0 || isSmall(value))
  if (isOpen && depth < depthMax) return <FieldsView fields={value} what={what} depth={depth} />
  return <JsonTree value={value} what={what} openLevels={1} />
}

/** Shows neighboring short values as one list, each larger value below its name, and all empty values at the end. */
function FieldsView({ fields, what, depth }: { fields: Fields; what: string; depth: number }) {
  const entries = Object.entries(fields)
  const empty = entries.filter(([, value]) => isNothing(value)).map(([name]) => name)
  const blocks: { key: string; lines: [string, unknown][]; part?: unknown }[] = []
  for (const [name, value] of entries) {
    if (isNothing(value)) continue
    const last = blocks.at(-1)
    if (!isLine(value)) blocks.push({ key: name, lines: [], part: value })
    else if (last && last.lines.length > 0) last.lines.push([name, value])
    else blocks.push({ key: name, lines: [[name, value]] })
  }
  return (
    <Stack gap={depth === 0 ? 'md' : 'sm'} miw={0}>
      {blocks.map(({ key, lines, part }) =>
        lines.length > 0 ? (
          <KeyValueList
            key={key}
            rows={lines.map(([name, value]) => [name, <ScalarText key={name} value={value} />] as const)}
          />
        ) : (
          <Box key={key} miw={0}>
            <Text size="sm" fw={600} mb={4}>
              {key}
            </Text>
            <Box className={isFields(part) ? classes.nested : undefined}>
              <PartView value={part} what={`${key} of ${what}`} depth={depth + 1} />
            </Box>
          </Box>
        ),
      )}
      {empty.length > 0 && (
        <Text size="sm" c="dimmed">
          Empty: {empty.join(', ')}
        </Text>
      )}
    </Stack>
  )
}

function ListView({ list, what, depth }: { list: readonly unknown[]; what: string; depth: number }) {
  const { rows, ...more } = useRows(list)
  const columns = columnsOf(list)
  if (columns) return <PayloadTable list={list as readonly Fields[]} columns={columns} what={what} />
  if (list.every(isScalar)) {
    return (
      <>
        <ul className={classes.items} aria-label={what}>
          {rows.map((item, index) => (
            // A result never changes, so indexes are stable keys.
            // oxlint-disable-next-line react/no-array-index-key
            <li key={index} className={classes.inline}>
              <ScalarText value={item} />
            </li>
          ))}
        </ul>
        <ShowMore {...more} />
      </>
    )
  }
  if (depth >= depthMax) return <JsonTree value={list} what={what} openLevels={1} />
  return (
    <>
      <ol className={classes.records} aria-label={what}>
        {rows.map((item, index) => (
          // oxlint-disable-next-line react/no-array-index-key
          <li key={index} className={classes.record}>
            {isNothing(item) ? (
              <Text c="dimmed">{emptyText(item)}</Text>
            ) : (
              <PartView value={item} what={`${index + 1} of ${what}`} depth={depth + 1} />
            )}
          </li>
        ))}
      </ol>
      <ShowMore {...more} />
    </>
  )
}

function TextView({ text, what }: { text: string; what: string }) {
  const [shown, setShown] = useState(charsStep)
  return (
    <Box>
      <Box className={classes.block}>
        {markdown.test(text) ? (
          <div className={classes.text} tabIndex={0} role="group" aria-label={what}>
            <ReplyText text={text} />
          </div>
        ) : (
          <pre className={classes.text} tabIndex={0} role="group" aria-label={what}>
            {text.slice(0, shown).toWellFormed()}
          </pre>
        )}
        <Box className={classes.copy}>
          <CopyButton value={text} what={what} />
        </Box>
      </Box>
      {shown < text.length && !markdown.test(text) && (
        <Button size="xs" variant="default" mt="xs" onClick={() => setShown(shown * 4)}>
          Show more of the {text.length.toLocaleString('en')} characters
        </Button>
      )}
    </Box>
  )
}
