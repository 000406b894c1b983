import type { Session } from '../../../../client/client.ts'
import { queryClient } from '../../../app/query-client.ts'
import { announceEnd } from '../../../app/announce-end.tsx'
import { isUnderWay, type LiveState } from './live-exchange.ts'

type Announcing = { sessionId: string; subscribe: (listener: () => void) => unknown; getState: () => LiveState }

export function announced<Chat extends Announcing>(chat: Chat): Chat {
  const { sessionId } = chat
  let wasBusy = false
  chat.subscribe(() => {
    const { exchange } = chat.getState()
    const isBusy = isUnderWay(exchange)
    if (wasBusy && !isBusy && exchange) {
      const isDone = exchange.phase === 'stored'
      const name = queryClient.getQueryData<Session>(['session', sessionId])?.title ?? 'Chat'
      const title = `${isDone ? 'Reply' : 'Reply failed'}: ${name}`
      announceEnd({ isDone, name, title, path: `/chat/${encodeURIComponent(sessionId)}`, link: 'View chat' })
    }
    wasBusy = isBusy
  })
  return chat
}
