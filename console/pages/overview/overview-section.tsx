import { Box, Group, Title } from '@mantine/core'
import { useId, type ReactNode } from 'react'
import { PageLink } from '../../parts/page-link.tsx'

type OverviewSectionProps = {
  title: string
  more: { href: string; label: string }
  note?: ReactNode
  children: ReactNode
}

export function OverviewSection({ title, more, note, children }: OverviewSectionProps) {
  const id = useId()
  return (
    <Box component="section" aria-labelledby={id} miw={0}>
      <Group justify="space-between" mb="xs" gap="xs">
        <Group gap="sm" align="baseline">
          <Title order={2} id={id}>
            {title}
          </Title>
          {note}
        </Group>
        <PageLink href={more.href} size="sm">
          {more.label}
        </PageLink>
      </Group>
      {children}
    </Box>
  )
}
