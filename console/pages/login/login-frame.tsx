import { brand, supportUrl } from '../../app/read-brand.ts'
import { Anchor, Box, Center, Paper, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import { BrandLogo } from '../../parts/brand-logo.tsx'
import { usePageTitle } from '../../parts/hooks/use-page-title.ts'

export function LoginFrame({ title, lead, children }: { title: string; lead?: ReactNode; children: ReactNode }) {
  usePageTitle(title)
  return (
    <Center component="main" mih="100dvh" p="md">
      <Box w="100%" maw={384}>
        <Center mb="lg">
          <BrandLogo alt={brand.logo ? brand.name : ''} height={40} />
        </Center>
        <Paper withBorder radius="lg" p="xl">
          <Title order={1} ta="center">
            {title}
          </Title>
          {lead && (
            <Text c="dimmed" ta="center" mt={4}>
              {lead}
            </Text>
          )}
          <Box mt="lg">{children}</Box>
        </Paper>
        {supportUrl !== undefined && (
          <Text ta="center" size="sm" mt="md">
            <Anchor href={supportUrl}>Contact support</Anchor>
          </Text>
        )}
      </Box>
    </Center>
  )
}
