import { useEffect, useMemo, useState } from 'react'
import type { Message, Quote } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { usdText } from '../../../parts/text/usd-text.ts'
import { useDraft, type ChatParams } from '../transcript/chat-drafts.ts'
import { messageOf, replacedBy, type Replaced } from '../transcript/sent-message.ts'
import type { AttachedFile } from './attached-files.ts'
import type { NewSession } from './use-start-chat.ts'

/** The session of the message, or the session that it would start. */
export type QuotedChat = { sessionId: string; replaces?: string } | NewSession

/** `stored` contains the files of the replaced message. */
type Draft = {
  text: string
  files: readonly AttachedFile[]
  params: ChatParams
  stored?: Replaced['files']
}

const waitMs = 600
/** The pause grows with the message, because each quote uploads it. A message of 8 MB waits for two more seconds. */
const bytesPerMs = 4096

/**
 * Quotes a draft after a pause in typing. Returns one or two sentences: its maximum cost, or the reserved amount if the
 * agent may call models any number of times. Returns undefined until the quote is known.
 */
export function useCostText(to: QuotedChat, draft: Draft, isQuoted: boolean): string[] | undefined {
  const [quoted, setQuoted] = useState<{ draft: Draft; quote: Quote }>()
  const size = draft.files.reduce((sum, { file }) => sum + file.size, draft.text.length)
  const target = JSON.stringify(to)
  useEffect(() => {
    if (!isQuoted) return undefined
    const left = new AbortController()
    const quote = async () => {
      const message = await messageOf(draft.text, draft.files, draft.stored)
      const chat = { ...(JSON.parse(target) as QuotedChat), message, params: draft.params }
      setQuoted({ draft, quote: await client.quotes.create({ chat }, { signal: left.signal }) })
    }
    // Ignore errors. Without a quote, the composer shows the prices, and sending the message reports the error.
    const timer = setTimeout(() => void quote().catch(() => {}), waitMs + size / bytesPerMs)
    return () => {
      clearTimeout(timer)
      left.abort()
      setQuoted(undefined)
    }
  }, [draft, isQuoted, size, target])
  if (quoted?.draft !== draft) return undefined
  const { holdUsd, worstCaseUsd } = quoted.quote
  if (worstCaseUsd !== undefined) return [`Costs at most ${usdText(worstCaseUsd)}.`]
  return holdUsd === undefined ? undefined : [`Up to ${usdText(holdUsd)} is held.`, 'You pay only for what you use.']
}

type Replacement = { sessionId: string; message: Message; text: string }

/** Explains the cost of replacing the last message and its reply with a message that has the same files. */
export function useReplaceText({ message, sessionId, text }: Replacement, isQuoted: boolean): string {
  const { params } = useDraft(sessionId)
  const stored = useMemo(() => replacedBy(message, message.content).files, [message])
  const draft = useMemo(() => ({ text, files: [], params, stored }), [params, stored, text])
  const costText = useCostText({ sessionId, replaces: message.turnId }, draft, isQuoted) ?? []
  return ['Replaces this reply.', 'You are charged for both replies.', ...costText].join(' ')
}
