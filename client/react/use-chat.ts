import { useCallback, useEffect, useReducer, useRef } from 'react'
import type { ChatEvent, ChatStream, ChatUsage, Message } from '../client.ts'
import { announceCharge, useErrandContext } from './errand-provider.tsx'

export type ChatItem = {
  id: string
  role: 'user' | 'assistant'
  text: string
  toolNames: readonly string[]
  isReplying: boolean
  /**
   * Cost and token counts of the reply, once it has ended. Undefined for replies that ended before the component
   * mounted.
   */
  costUsd: string | undefined
  usage: ChatUsage | undefined
  /** Why the reply ended early. The text generated so far is charged. */
  error: string | undefined
}

export type ChatState = {
  items: readonly ChatItem[]
  isReplying: boolean
  /** Set if the service rejected a message or could not be reached. */
  error: Error | undefined
  /**
   * Sends a message. Ignored while a reply is in progress. If the message is rejected, sets `error` and removes the
   * message.
   */
  send: (text: string) => Promise<boolean>
  /** Stops the reply. The text generated so far is charged. */
  stop: () => void
}

type State = { items: ChatItem[]; isReplying: boolean; error: Error | undefined }
type Change =
  | { do: 'load'; items: ChatItem[] }
  | { do: 'add'; items: ChatItem[] }
  | { do: 'event'; event: ChatEvent }
  | { do: 'end' }
  | { do: 'reject'; error: Error }
  | { do: 'fail'; error: Error }

const emptyChat: State = { items: [], isReplying: false, error: undefined }

/**
 * The conversation of one session. Loads its messages, and continues to show a reply that was in progress when the user
 * left the page. A reply continues if the component unmounts.
 */
export function useChat({ sessionId }: { sessionId: string }): ChatState {
  const errand = useErrandContext()
  const [state, change] = useReducer(reduce, emptyChat)
  const stream = useRef<ChatStream>(undefined)

  const read = useCallback(
    async (opened: ChatStream, signal: AbortSignal, onFirst: () => void = () => {}) => {
      stream.current = opened
      let isFirst = true
      try {
        for await (const event of opened) {
          if (signal.aborted) return
          if (isFirst) onFirst()
          isFirst = false
          change({ do: 'event', event })
        }
      } finally {
        // The chat may already show another session.
        if (stream.current === opened) stream.current = undefined
        if (!signal.aborted) change({ do: 'end' })
        announceCharge(errand)
      }
    },
    [errand],
  )

  const leaving = useRef<AbortSignal>(AbortSignal.abort())
  const loading = useRef(Promise.resolve())
  useEffect(() => {
    const controller = new AbortController()
    leaving.current = controller.signal
    const { signal } = controller
    const load = async () => {
      const items: ChatItem[] = []
      for await (const message of errand.client.sessions.messages({ sessionId })) items.push(itemOf(message))
      if (!signal.aborted) change({ do: 'load', items })
      return items.length
    }
    const open = async () => {
      const loaded = await load()
      if (signal.aborted) return
      let isResumed = false
      const running = errand.client.chat.resumeSession({ sessionId }, { signal })
      await read(running, signal, () => {
        isResumed = true
        change({ do: 'add', items: [reply()] })
      })
      if (signal.aborted) return
      // A reply and its message are stored when the reply ends, which may be after the messages were loaded.
      if (isResumed || (await errand.client.sessions.get({ sessionId })).messageCount !== loaded) await load()
    }
    loading.current = open().catch((error: Error) => {
      if (!signal.aborted) change({ do: 'fail', error })
    })
    return () => controller.abort()
  }, [errand, read, sessionId])

  const send = useCallback(
    async (text: string) => {
      const signal = leaving.current
      // Wait for the stored messages to load, because they replace the displayed ones. During a reply, do not wait,
      // because loading ends only after the reply.
      if (stream.current === undefined) await loading.current
      if (stream.current !== undefined || signal.aborted || text.trim() === '') return false
      change({ do: 'add', items: [{ ...reply(), role: 'user', text, isReplying: false }, reply()] })
      try {
        // With `continue`, only `stop` ends the reply. A page reload does not.
        await read(errand.client.chat.stream({ sessionId, message: text, onDisconnect: 'continue' }), signal)
        return true
      } catch (error) {
        if (!signal.aborted) change({ do: 'reject', error: error as Error })
        return false
      }
    },
    [errand, read, sessionId],
  )

  const stop = useCallback(() => {
    const turnId = stream.current?.turnId
    if (turnId === undefined) return
    errand.client.chat.stop({ turnId }).catch((error: Error) => change({ do: 'fail', error }))
  }, [errand])

  return { ...state, send, stop }
}

function reduce(state: State, change: Change): State {
  const { items } = state
  switch (change.do) {
    case 'load':
      return { ...emptyChat, items: [...change.items.slice(0, -1), ...withReceipt(change.items.at(-1), items.at(-1))] }
    case 'add':
      return { items: [...items, ...change.items], isReplying: true, error: undefined }
    case 'event':
      return { ...state, items: items.with(items.length - 1, apply(items.at(-1)!, change.event)) }
    case 'end':
      return { ...state, isReplying: false, items: items.map((item) => ({ ...item, isReplying: false })) }
    case 'reject':
      return { items: items.slice(0, -2), isReplying: false, error: change.error }
    case 'fail':
      return { ...state, error: change.error }
  }
}

/** Returns the last stored message with the cost, usage and error of the reply that just ended. */
function withReceipt(stored: ChatItem | undefined, shown: ChatItem | undefined): ChatItem[] {
  if (!stored) return []
  if (!shown || shown.role !== stored.role) return [stored]
  const { costUsd, error, usage } = shown
  return [{ ...stored, costUsd, error, usage }]
}

function apply(item: ChatItem, event: ChatEvent): ChatItem {
  switch (event.type) {
    case 'assistant_delta':
      return { ...item, text: item.text + event.delta }
    case 'tool_call':
      return { ...item, toolNames: [...item.toolNames, event.toolCall.name] }
    case 'done':
      return { ...item, costUsd: event.costUsd, usage: event.usage }
    case 'error':
      return { ...item, costUsd: event.costUsd, error: event.error.message }
    default:
      return item
  }
}

let created = 0

function reply(): ChatItem {
  // Browsers do not provide `crypto.randomUUID` to pages served over plain HTTP.
  return { ...emptyItem, id: `new_${++created}`, role: 'assistant', isReplying: true }
}

const emptyItem = { text: '', toolNames: [], isReplying: false, costUsd: undefined, usage: undefined, error: undefined }

function itemOf({ content, id, role, toolCalls = [] }: Message): ChatItem {
  return { ...emptyItem, id, role, text: content, toolNames: toolCalls.map(({ name }) => name) }
}
