import { Button, Group, SegmentedControl, Stack, Text } from '@mantine/core'
import type { UseQueryResult } from '@tanstack/react-query'
import { useState } from 'react'
import { DownloadButton } from '../../parts/download/download-button.tsx'
import { ErrorNotice } from '../../parts/error-notice.tsx'
import { JsonTree } from '../../parts/json-tree.tsx'
import { Panel } from '../../parts/panel.tsx'
import { loadPayloadText, type PayloadPart } from './load-payload.ts'
import { PayloadView } from './payload-view.tsx'
import classes from './task.module.css'

type PayloadPanelProps = {
  title: string
  what: string
  taskId: string
  part: PayloadPart
  value: unknown
  /** Whether the value is truncated. */
  isPreview: boolean
  whole: UseQueryResult
}

/**
 * Shows the params or the result of a task, in a readable form or as JSON. Large values are loaded or downloaded on
 * demand.
 */
export function PayloadPanel({ title, what, taskId, part, value, isPreview, whole }: PayloadPanelProps) {
  const [look, setLook] = useState('readable')
  const isWhole = !isPreview || whole.data !== undefined
  const shown = isPreview ? whole.data : value
  const isObject = typeof shown === 'object' && shown !== null
  return (
    <Panel
      title={title}
      actions={
        <Group gap="xs">
          {isWhole && isObject && (
            <SegmentedControl
              size="xs"
              aria-label={`Format of ${what}`}
              data={[
                { value: 'readable', label: 'Readable' },
                { value: 'json', label: 'JSON' },
              ]}
              value={look}
              onChange={setLook}
            />
          )}
          <DownloadButton
            label={`Download ${title.toLowerCase()}`}
            fileName={`${taskId}-${part}.json`}
            content={() => (isPreview ? loadPayloadText(taskId, part) : JSON.stringify(value, null, 2))}
          />
        </Group>
      }
    >
      {!isWhole && (
        <Stack gap="sm" align="flex-start">
          <Text size="sm" c="dimmed">
            Only the beginning is shown, because the data is larger than the inline limit (16 KB by default).
          </Text>
          <pre className={classes.preview} tabIndex={0} role="group" aria-label={`Beginning of ${what}`}>
            {String(value)}…
          </pre>
          {whole.error && <ErrorNotice title="Could not load the data" error={whole.error} />}
          <Button size="xs" variant="default" loading={whole.isFetching} onClick={() => void whole.refetch()}>
            Load all
          </Button>
        </Stack>
      )}
      {isWhole &&
        (look === 'json' && isObject ? (
          <JsonTree value={shown} what={what} />
        ) : (
          <PayloadView value={shown} what={what} />
        ))}
    </Panel>
  )
}
