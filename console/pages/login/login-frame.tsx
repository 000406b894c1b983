import { basePath } from '../../app/service-url.ts'
import { Box, Center, Paper, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import { usePageTitle } from '../../parts/hooks/use-page-title.ts'

export function LoginFrame({ title, lead, children }: { title: string; lead?: ReactNode; children: ReactNode }) {
  usePageTitle(title)
  return (
    <Center component="main" mih="100dvh" p="md">
      <Box w="100%" maw={384}>
        <Center mb="lg">
          <img src={`${basePath}/favicon.svg`} alt="" width={40} height={40} />
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
      </Box>
    </Center>
  )
}
