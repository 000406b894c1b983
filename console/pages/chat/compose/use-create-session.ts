import { useMutation } from '@tanstack/react-query'
import { useRef } from 'react'
import { navigate } from 'wouter/use-browser-location'
import { newIdempotencyKey } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { queryClient } from '../../../app/query-client.ts'
import { changeDraft } from '../transcript/chat-drafts.ts'

export type NewSession = { agentId: string; connectorIds?: string[]; maxCostUsd?: string }

/**
 * Creates a session and opens it. `text` is the unsent draft of a closed session and becomes the draft of the new
 * session. A retry after an error does not create a second session.
 */
export function useCreateSession(text = '') {
  const intent = useRef<{ of: string; key: string }>(undefined)
  return useMutation({
    mutationFn: (input: NewSession) => {
      const of = JSON.stringify(input)
      if (intent.current?.of !== of) intent.current = { of, key: newIdempotencyKey() }
      return client.sessions.create(input, { idempotencyKey: intent.current.key })
    },
    onSuccess: ({ sessionId }) => {
      intent.current = undefined
      if (text !== '') changeDraft(sessionId, { text })
      void queryClient.invalidateQueries({ queryKey: ['sessions'] })
      navigate(`/chat/${sessionId}`)
    },
  })
}
