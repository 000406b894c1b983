import { Button, Stack, Text, Title } from '@mantine/core'
import { Component, type ReactNode } from 'react'
import { usePageTitle } from '../parts/hooks/use-page-title.ts'

/** Prevents an error on one page from breaking the rest of the console. */
export class PageBoundary extends Component<{ children: ReactNode }, { error: unknown }> {
  override readonly state: { error: unknown } = { error: undefined }

  static getDerivedStateFromError(error: unknown): { error: unknown } {
    return { error: error ?? new Error('Unknown error') }
  }

  override render(): ReactNode {
    if (this.state.error === undefined) return this.props.children
    return <BrokenPage error={this.state.error} />
  }
}

function BrokenPage({ error }: { error: unknown }) {
  usePageTitle('Error')
  return (
    <Stack align="flex-start" gap="sm" p="md" maw={560} role="alert">
      <Title order={1}>This page failed to load</Title>
      <Text c="dimmed">
        Reload the page. If the problem persists, report this error:{' '}
        {error instanceof Error ? error.message : String(error)}
      </Text>
      <Button onClick={() => location.reload()}>Reload page</Button>
    </Stack>
  )
}
