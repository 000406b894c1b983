import { Chat, useChat } from '@ai-sdk/react'
import { DefaultChatTransport, type ChatTransport, type UIMessage } from 'ai'
import { createClient } from 'errand/client'
import { ErrandChatTransport, type ErrandMetadata } from 'errand/client/ai-sdk'
import { StrictMode, useEffect, useState, type FormEvent } from 'react'
import { createRoot } from 'react-dom/client'

// One page with two modes. By default it calls Errand directly, with a client token. At /?by=route it uses the routes
// of its own server.

type Message = UIMessage<ErrandMetadata>
type Start = { sessionId: string; errandUrl: string; messages: Message[] }
type Reply = { turnId?: string | undefined; costUsd?: string | undefined }

const byRoute = new URLSearchParams(location.search).get('by') === 'route'
const { errandUrl, messages, sessionId } = await askStart()

/**
 * Storage key of the message whose reply is in progress. The history contains this message only after the reply has
 * ended.
 */
const pendingKey = `pending-${sessionId}`

let token: Promise<{ token: string; expiresAt: string }> | undefined
const renewBeforeMs = 60_000

async function client() {
  const handed = await token
  if (!handed || Date.parse(handed.expiresAt) - Date.now() < renewBeforeMs) token = ask('/api/token')
  return createClient({ baseUrl: errandUrl, apiKey: (await token!).token })
}

const routeTransport = new DefaultChatTransport<Message>({
  prepareSendMessagesRequest: ({ messages: sent }) => ({ body: { message: textOf(sent.at(-1)!) } }),
  prepareReconnectToStreamRequest: ({ api }) => ({ api: `${api}/stream` }),
})
const ownTransport: ChatTransport<Message> = new ErrandChatTransport({ client, onEnd: showCost })

/** Created outside of the component, so that unmounting the component does not stop a reply. */
const chat = new Chat<Message>({
  id: sessionId,
  messages: withPending(messages),
  transport: byRoute ? routeTransport : ownTransport,
  onFinish: ({ isAbort, isDisconnect }) => isAbort || isDisconnect || localStorage.removeItem(pendingKey),
})

async function stopReply(): Promise<void> {
  await chat.stop()
  if (byRoute) showCost(await ask('/api/chat/stop'))
  localStorage.removeItem(pendingKey)
}

/** Shows the cost of a stopped reply, which arrives only after the stop. */
function showCost({ costUsd, turnId }: Reply): void {
  if (costUsd === undefined) return
  chat.messages = chat.messages.map((message) =>
    message.id === turnId ? { ...message, metadata: { ...message.metadata, costUsd } } : message,
  )
}

function withPending(history: Message[]): Message[] {
  const pending = JSON.parse(localStorage.getItem(pendingKey) ?? 'null') as Message | null
  const isAnswered = history.some(({ metadata }) => metadata?.turnId === pending?.metadata?.turnId)
  return pending && !isAnswered ? [...history, pending] : history
}

/**
 * Resumes the reply in progress, if there is one. If the reply has ended in the meantime, loads it from the history.
 */
async function resume(): Promise<void> {
  await chat.resumeStream()
  if (chat.lastMessage?.role === 'user' && chat.status === 'ready')
    chat.messages = withPending((await askStart()).messages)
}

function ChatPage() {
  const { error, messages: shown, sendMessage, status } = useChat({ chat })
  const [text, setText] = useState('')
  const isBusy = status === 'submitted' || status === 'streaming'

  const last = shown.at(-1)
  const turnId = isBusy && last?.role === 'assistant' ? last.metadata?.turnId : undefined
  useEffect(() => {
    const question = chat.messages.findLast(({ role }) => role === 'user')
    if (isBusy && question) localStorage.setItem(pendingKey, JSON.stringify({ ...question, metadata: { turnId } }))
  }, [isBusy, turnId])

  const send = (event: FormEvent) => {
    event.preventDefault()
    setText('')
    void sendMessage({ text })
  }

  return (
    <main>
      <h1>A chat</h1>
      <section aria-label="Messages" aria-live="polite">
        {shown.map((message) => (
          <article key={message.id} className={message.role} data-cost-usd={message.metadata?.costUsd}>
            {message.parts.map((part, index) => (
              <Part key={index} part={part} />
            ))}
            {message.metadata?.costUsd !== undefined && <small>{message.metadata.costUsd} USD</small>}
          </article>
        ))}
      </section>
      <form onSubmit={send}>
        <label>
          Message <input value={text} onChange={(event) => setText(event.target.value)} required autoComplete="off" />
        </label>
        <button disabled={isBusy}>Send</button>
        <button type="button" disabled={!isBusy} onClick={() => void stopReply()}>
          Stop
        </button>
      </form>
      <p role="status">{status}</p>
      {error && <p role="alert">{error.message}</p>}
    </main>
  )
}

function Part({ part }: { part: Message['parts'][number] }) {
  if (part.type === 'text') return <p>{part.text}</p>
  if (part.type === 'reasoning') return <p className="reasoning">{part.text}</p>
  if (part.type === 'dynamic-tool') return <p className="tool">{`${part.toolName}: ${part.state}`}</p>
  return null
}

function textOf({ parts }: Message): string {
  return parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
}

async function askStart(): Promise<Start> {
  return (await (await fetch('/api/chat')).json()) as Start
}

async function ask<Answer>(path: string): Promise<Answer> {
  const response = await fetch(path, { method: 'POST' })
  if (!response.ok) throw new Error(await response.text())
  return (await response.json()) as Answer
}

void resume()
createRoot(document.querySelector('#app')!).render(
  <StrictMode>
    <ChatPage />
  </StrictMode>,
)
