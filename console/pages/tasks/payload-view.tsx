import { Box, Button, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { CopyButton } from '../../parts/copy-button.tsx'
import { JsonTree } from '../../parts/json-tree.tsx'
import classes from './task.module.css'

const fieldsMax = 50
const charsStep = 20_000
const shortTextMax = 100

/** A result to read: texts as texts, with their line breaks, and what has parts as a tree. */
export function PayloadView({ value, what }: { value: unknown; what: string }) {
  if (typeof value === 'string') return <TextView text={value} what={what} />
  const entries = typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.entries(value) : []
  if (entries.length === 0 || entries.length > fieldsMax) return <JsonTree value={value} what={what} />
  return (
    <Stack gap="md">
      {entries.map(([name, part]) => (
        <Box key={name} miw={0}>
          <Text component="h3" ff="monospace" size="sm" fw={500} c="dimmed" m={0} mb={4}>
            {name}
          </Text>
          <PartView value={part} what={`${name} of ${what}`} />
        </Box>
      ))}
    </Stack>
  )
}

function PartView({ value, what }: { value: unknown; what: string }) {
  if (typeof value === 'object' && value !== null) return <JsonTree value={value} what={what} openLevels={1} />
  if (typeof value !== 'string') return <Text className="tabular">{String(value)}</Text>
  if (value === '') return <Text c="dimmed">Empty text</Text>
  const isShort = value.length <= shortTextMax && !value.includes('\n')
  return isShort ? <Text className={classes.inline}>{value}</Text> : <TextView text={value} what={what} />
}

function TextView({ text, what }: { text: string; what: string }) {
  const [shown, setShown] = useState(charsStep)
  return (
    <Box pos="relative">
      <pre className={classes.text} tabIndex={0} role="group" aria-label={what}>
        {text.slice(0, shown).toWellFormed()}
      </pre>
      <Box pos="absolute" top={8} right={8}>
        <CopyButton value={text} what={what} />
      </Box>
      {shown < text.length && (
        <Button size="xs" variant="default" mt="xs" onClick={() => setShown(shown * 4)}>
          Show more of {text.length.toLocaleString('en')} characters
        </Button>
      )}
    </Box>
  )
}
