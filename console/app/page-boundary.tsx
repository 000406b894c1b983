import { Button, Stack, Text, Title } from '@mantine/core'
import { Component, type ReactNode } from 'react'
import { usePageTitle } from '../parts/hooks/use-page-title.ts'

/** Keeps an error of one page from breaking the rest of the console. */
export class PageBoundary extends Component<{ children: ReactNode }, { error: unknown }> {
  override readonly state: { error: unknown } = { error: undefined }

  static getDerivedStateFromError(error: unknown): { error: unknown } {
    return { error: error ?? new Error('Nothing was said about the error.') }
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
      <Title order={1}>This page cannot be shown</Title>
      <Text c="dimmed">
        The console may have been updated since the page was opened, or the connection was lost while its code was on
        its way. Load it again; if that does not help, this is what went wrong:{' '}
        {error instanceof Error ? error.message : String(error)}
      </Text>
      <Button onClick={() => location.reload()}>Load again</Button>
    </Stack>
  )
}
