import { useParams, useSearchParams } from 'wouter'
import { ChatList } from './list/chat-list.tsx'
import { Conversation } from './conversation.tsx'
import { NewChat } from './compose/new-chat.tsx'

export function ChatPage() {
  const { sessionId } = useParams<{ sessionId?: string }>()
  const [params] = useSearchParams()
  if (sessionId !== undefined) return <Conversation sessionId={sessionId} />
  return params.has('new') ? <NewChat /> : <ChatList />
}
