import { Skeleton, Stack, Text, VisuallyHidden } from '@mantine/core'
import type { UseQueryResult } from '@tanstack/react-query'
import { ErrandClientError, type Connector } from '../../../../client/client.ts'
import { ErrorNotice } from '../../../parts/error-notice.tsx'
import { Panel } from '../../../parts/panel.tsx'
import { ToolChoice } from './tool-choice.tsx'
import type { ToolsPage } from './use-connector-tools.ts'
import { countText } from '../../../parts/text/count-text.ts'

export function ConnectorTools({ connector, tools }: { connector: Connector; tools: UseQueryResult<ToolsPage> }) {
  const isKnown = tools.data && !tools.error && connector.status !== 'needs_sign_in'
  return (
    <Panel title={isKnown ? `Tools (${countText(tools.data.total)})` : 'Tools'}>
      <Content connector={connector} tools={tools} />
    </Panel>
  )
}

function Content({ connector, tools: { data, error, isFetching, refetch } }: Parameters<typeof ConnectorTools>[0]) {
  if (connector.status === 'needs_sign_in') {
    return <Text c="dimmed">Sign in to see the tools.</Text>
  }
  if (error && !isFetching) {
    if (error instanceof ErrandClientError && error.code === 'CONNECTOR_FAILED') {
      return (
        <Text c="dimmed">
          The server is not available. Check the URL and authentication below, then test the connector.
        </Text>
      )
    }
    return <ErrorNotice title="Could not load the tools" error={error} onRetry={() => void refetch()} />
  }
  if (data === undefined) {
    return (
      <div aria-busy="true">
        <VisuallyHidden>Loading tools</VisuallyHidden>
        <Stack gap="sm" aria-hidden>
          <Skeleton height={28} width="60%" />
          <Skeleton height={52} />
          <Skeleton height={52} />
        </Stack>
      </div>
    )
  }
  return <ToolChoice connector={connector} tools={data.tools} />
}
