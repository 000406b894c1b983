import { Button, Group, SimpleGrid, Stack, Text, Title } from '@mantine/core'
import { ChatBubbleIcon, CheckCircledIcon, CodeIcon, LightningBoltIcon } from '@radix-ui/react-icons'
import { useQuery } from '@tanstack/react-query'
import { client } from '../../app/api-client.ts'
import { Panel } from '../../parts/panel.tsx'
import { RouterLink } from '../../parts/router-link.tsx'

const steps = [
  {
    id: 'task',
    title: 'Run a task',
    text: 'Choose an agent and fill in its form. The price is shown up front, and failed tasks are refunded in full.',
    href: '/agents',
    label: 'Choose an agent',
    Icon: LightningBoltIcon,
  },
  {
    id: 'chat',
    title: 'Start a chat',
    text: 'Chat with an agent that remembers the conversation. Each message is charged by usage.',
    href: '/chat',
    label: 'Start a chat',
    Icon: ChatBubbleIcon,
  },
  {
    id: 'key',
    title: 'Create an API key',
    text: 'Run tasks and chats from your code, with curl or the typed client.',
    href: '/settings/keys',
    label: 'Create API key',
    Icon: CodeIcon,
  },
] as const

export function GettingStarted() {
  const keys = useQuery({ queryKey: ['keys'], queryFn: ({ signal }) => client.keys.list({}, { signal }) })
  const hasKey = (keys.data?.total ?? 0) > 0
  return (
    <Panel title="Getting started">
      <SimpleGrid cols={{ base: 1, sm: 3 }} spacing="lg">
        {steps.map(({ id, title, text, href, label, Icon }, index) => (
          <Stack key={id} gap={6} align="flex-start">
            <Group gap={8} c="brand">
              <Icon aria-hidden />
              <Title order={3} c="var(--mantine-color-text)">
                {index + 1}. {title}
              </Title>
            </Group>
            <Text c="dimmed" flex={1}>
              {text}
            </Text>
            <Group gap="xs" mt={4}>
              <Button component={RouterLink} href={href} size="xs" variant={index === 0 ? 'filled' : 'default'}>
                {label}
              </Button>
              {id === 'key' && hasKey && (
                <Group gap={4} c="green">
                  <CheckCircledIcon aria-hidden />
                  <Text size="sm" inherit>
                    Key created
                  </Text>
                </Group>
              )}
            </Group>
          </Stack>
        ))}
      </SimpleGrid>
    </Panel>
  )
}
