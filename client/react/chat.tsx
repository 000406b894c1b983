import { useState, type FormEvent, type KeyboardEvent, type ReactNode } from 'react'
import { Receipt } from './receipt.tsx'
import { useChat, type ChatItem } from './use-chat.ts'

export type ChatLabels = {
  message: string
  messages: string
  send: string
  stop: string
  tool: (name: string) => string
}

export type ChatProps = {
  sessionId: string
  /** Renders the text of a message, for example as Markdown. Defaults to plain text. */
  renderText?: ((text: string, item: ChatItem) => ReactNode) | undefined
  labels?: Partial<ChatLabels> | undefined
  locale?: string | undefined
}

const english: ChatLabels = {
  message: 'Message',
  messages: 'Messages',
  send: 'Send',
  stop: 'Stop',
  tool: (name) => `Used ${name}`,
}

/**
 * A chat with a session's agent. Each reply shows its cost. Enter sends the message, and Shift+Enter starts a new line.
 */
export function Chat({ labels, locale, renderText = (text) => text, sessionId }: ChatProps): ReactNode {
  const { error, isReplying, items, send, stop } = useChat({ sessionId })
  const words = { ...english, ...labels }
  return (
    <section className="errand-chat">
      <ol className="errand-messages" role="log" aria-label={words.messages} aria-busy={isReplying}>
        {items.map((item) => (
          <li
            key={item.id}
            className="errand-message"
            data-role={item.role}
            data-replying={item.isReplying || undefined}
          >
            {item.toolNames.map((name, place) => (
              <p key={place} className="errand-tool">
                {words.tool(name)}
              </p>
            ))}
            <div className="errand-text">{renderText(item.text, item)}</div>
            {item.error !== undefined && (
              <p className="errand-error" role="alert">
                {item.error}
              </p>
            )}
            {item.costUsd !== undefined && <Receipt costUsd={item.costUsd} usage={item.usage} locale={locale} />}
          </li>
        ))}
      </ol>
      {error && (
        <p className="errand-error" role="alert">
          {error.message}
        </p>
      )}
      <Composer words={words} isReplying={isReplying} send={send} stop={stop} />
    </section>
  )
}

type ComposerProps = {
  words: ChatLabels
  isReplying: boolean
  send: (text: string) => Promise<boolean>
  stop: () => void
}

function Composer({ isReplying, send, stop, words }: ComposerProps): ReactNode {
  const [draft, setDraft] = useState('')

  async function submit(event: FormEvent | KeyboardEvent): Promise<void> {
    event.preventDefault()
    if (isReplying || draft.trim() === '') return
    setDraft('')
    // If the message was rejected, restore it, unless the user has typed something else.
    if (!(await send(draft))) setDraft((last) => last || draft)
  }

  function onKeyDown(event: KeyboardEvent): void {
    const isEnter = event.key === 'Enter' && !event.shiftKey && !event.nativeEvent.isComposing
    if (isEnter) void submit(event)
  }

  return (
    <form className="errand-composer" onSubmit={(event) => void submit(event)}>
      <textarea
        aria-label={words.message}
        rows={2}
        value={draft}
        onChange={({ target }) => setDraft(target.value)}
        onKeyDown={onKeyDown}
      />
      {isReplying ? (
        <button type="button" onClick={stop}>
          {words.stop}
        </button>
      ) : (
        <button type="submit">{words.send}</button>
      )}
    </form>
  )
}
