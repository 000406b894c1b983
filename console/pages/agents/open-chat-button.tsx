import { Button } from '@mantine/core'
import { ChatBubbleIcon } from '@radix-ui/react-icons'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useRef } from 'react'
import { useLocation } from 'wouter'
import { newIdempotencyKey } from '../../../client/client.ts'
import { client } from '../../app/api-client.ts'
import { notifyError } from '../../parts/notify.tsx'

/** Creates a free session with an agent and opens its chat. */
export function OpenChatButton({ agentId, agentName }: { agentId: string; agentName: string }) {
  const queries = useQueryClient()
  const [, navigate] = useLocation()
  const key = useRef<string>(undefined)
  const open = useMutation({
    mutationFn: () => {
      // One click creates one session, even if the request is retried.
      key.current ??= newIdempotencyKey()
      return client.sessions.create({ agentId }, { idempotencyKey: key.current })
    },
    onSuccess: ({ sessionId }) => {
      key.current = undefined
      void queries.invalidateQueries({ queryKey: ['sessions'] })
      navigate(`/chat/${encodeURIComponent(sessionId)}`)
    },
    onError: (error) => notifyError('Could not start the chat', error),
  })
  return (
    <Button
      variant="default"
      size="xs"
      leftSection={<ChatBubbleIcon aria-hidden />}
      loading={open.isPending}
      aria-label={`Start a chat with ${agentName}`}
      onClick={() => open.mutate()}
    >
      Start chat
    </Button>
  )
}
