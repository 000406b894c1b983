import { Box, Group, Text, Title } from '@mantine/core'
import { ArrowLeftIcon } from '@radix-ui/react-icons'
import { useEffect, useRef, type ReactNode } from 'react'
import { codeSlotId } from './code/page-code.tsx'
import { PageLink } from './page-link.tsx'
import { usePageTitle } from './hooks/use-page-title.ts'

type PageHeaderProps = {
  title: string
  /** Precedes the title in the browser tab, for example to mark a result. */
  mark?: string
  description?: ReactNode
  actions?: ReactNode
  back?: { href: string; label: string }
}

/**
 * Path of the page whose heading was last focused. Initially the current path, because the first page must not take
 * focus.
 */
let focusedPath = location.pathname

/** Main heading of a page. Also sets the tab title and receives focus after a navigation. */
export function PageHeader({ mark, title, description, actions, back }: PageHeaderProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  usePageTitle(mark ? `${mark} ${title}` : title)
  useEffect(() => {
    if (focusedPath === location.pathname) return
    focusedPath = location.pathname
    heading.current?.focus({ preventScroll: true })
    scrollTo(0, 0)
  }, [])
  return (
    <Box component="header" mb="lg">
      {back && (
        <PageLink href={back.href} size="sm" mb={4} display="inline-flex" style={{ alignItems: 'center', gap: 4 }}>
          <ArrowLeftIcon aria-hidden />
          {back.label}
        </PageLink>
      )}
      <Group justify="space-between" align={description ? 'flex-start' : 'center'} gap="sm">
        <Box maw="100%" {...(description && { flex: '1 1 320px' })}>
          <Title order={1} ref={heading} tabIndex={-1} style={{ overflowWrap: 'break-word' }}>
            {title}
          </Title>
          {description && (
            <Text component="div" c="dimmed" mt={2} maw={680} style={{ textWrap: 'balance' }}>
              {description}
            </Text>
          )}
        </Box>
        <Group gap="xs" {...(!actions && { visibleFrom: 'sm' })}>
          <Box id={codeSlotId} miw={36} mih={36} visibleFrom="sm" />
          {actions}
        </Group>
      </Group>
    </Box>
  )
}
