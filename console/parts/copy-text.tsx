import { Group, Text } from '@mantine/core'
import { Fragment } from 'react'
import { CopyButton } from './copy-button.tsx'

export function CopyText({ value, what }: { value: string; what: string }) {
  return (
    <Group gap={4} wrap="nowrap" display="inline-flex" maw="100%">
      <Text component="span" ff="monospace" size="sm" style={{ overflowWrap: 'anywhere' }}>
        {value.split(/(?<=[.@])/).map((part, n) => (
          <Fragment key={n}>
            {n > 0 && <wbr />}
            {part}
          </Fragment>
        ))}
      </Text>
      <CopyButton value={value} what={what} />
    </Group>
  )
}
