import { Loader, Stack, Text, Title } from '@mantine/core'
import { usePageTitle } from '../parts/hooks/use-page-title.ts'
import { useIsUnreached } from './load-part.ts'

export function LoadingPage() {
  if (useIsUnreached()) return <NoConnection />
  return <Loader size="sm" aria-label="Loading page" />
}

function NoConnection() {
  usePageTitle('No connection')
  return (
    <Stack align="flex-start" gap="sm" p="md" maw={560} role="alert">
      <Title order={1}>No connection</Title>
      <Text c="dimmed">
        Could not reach the service. This page will load automatically when the connection is restored.
      </Text>
    </Stack>
  )
}
