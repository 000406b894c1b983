import { useMutation } from '@tanstack/react-query'
import { useRef } from 'react'
import { newIdempotencyKey } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { queryClient } from '../../../app/query-client.ts'
import { changeDraft, draftOf } from '../transcript/chat-drafts.ts'
import { liveChatOf } from '../transcript/live-chat.ts'
import { areSame } from '../transcript/sent-message.ts'
import { keep, sessionOptions } from '../transcript/transcript.ts'
import { showReplying } from '../list/session-news.ts'
import type { AttachedFile } from './attached-files.ts'
import { goTo } from '../../../app/service-url.ts'

export type NewSession = { agentId: string; connectorIds?: string[]; maxCostUsd?: string; continues?: string }

/** Draft id for a chat that has no session yet. */
export const newChatId = 'new'

type First = { input: NewSession; message: string; files: readonly AttachedFile[] }

/**
 * Creates a session, sends its first message with the draft's params, and opens the session. The message stays in the
 * draft until then. A retry after an error does not create a second session.
 */
export function useStartChat(draftId: string) {
  const intent = useRef<{ of: string; key: string }>(undefined)
  return useMutation({
    mutationFn: ({ input }: First) => {
      const of = JSON.stringify(input)
      if (intent.current?.of !== of) intent.current = { of, key: newIdempotencyKey() }
      return client.sessions.create(input, { idempotencyKey: intent.current.key })
    },
    onSuccess: async ({ sessionId }, { files, message }) => {
      intent.current = undefined
      const { params } = draftOf(draftId)
      changeDraft(sessionId, { params })
      keep(sessionId, { messages: [], from: 0 })
      void liveChatOf(sessionId).send(message, params, { files })
      // Without this, the chat would open empty, and show the message only after the session has loaded.
      await queryClient.prefetchQuery({ ...sessionOptions(sessionId), retry: false })
      showReplying(sessionId, message)
      const draft = draftOf(draftId)
      const areSameFiles = areSame(draft.files, files)
      const isSame = draft.text === message
      changeDraft(draftId, { params: {}, ...(areSameFiles && { files: [] }), ...(isSame && { text: '' }) })
      void queryClient.invalidateQueries({ queryKey: ['sessions'] })
      goTo(`/chat/${sessionId}`)
    },
  })
}
