import { Loader, Stack, Text, Title } from '@mantine/core'
import { usePageTitle } from '../parts/hooks/use-page-title.ts'
import { useIsUnreached } from './load-part.ts'

export function LoadingPage() {
  if (useIsUnreached()) return <NoConnection />
  return <Loader size="sm" aria-label="Loading the page" />
}

function NoConnection() {
  usePageTitle('No connection')
  return (
    <Stack align="flex-start" gap="sm" p="md" maw={560} role="alert">
      <Title order={1}>No connection</Title>
      <Text c="dimmed">
        The service cannot be reached, and this page was not loaded before. It appears here by itself when the
        connection is back.
      </Text>
    </Stack>
  )
}
