import { Button } from '@mantine/core'
import { ChatBubbleIcon } from '@radix-ui/react-icons'
import { RouterLink } from '../../parts/router-link.tsx'

export function OpenChatButton({ agentId, agentName }: { agentId: string; agentName: string }) {
  return (
    <Button
      component={RouterLink}
      href={`/chat?new=yes&agentId=${encodeURIComponent(agentId)}`}
      variant="default"
      size="xs"
      leftSection={<ChatBubbleIcon aria-hidden />}
      aria-label={`Start a chat with ${agentName}`}
    >
      Start chat
    </Button>
  )
}
