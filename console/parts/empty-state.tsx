import { Paper, Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'

export function EmptyState({ title, children, action }: { title: string; children?: ReactNode; action?: ReactNode }) {
  return (
    <Paper withBorder p="xl">
      <Stack align="center" gap="xs" ta="center" py="md">
        <Text fw={600} size="lg">
          {title}
        </Text>
        {children && (
          <Text component="div" c="dimmed" maw={440}>
            {children}
          </Text>
        )}
        {action}
      </Stack>
    </Paper>
  )
}
