import { useEffect, useState } from 'react'
import type { Quote } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { usdText } from '../../../parts/text/usd-text.ts'
import type { ChatParams } from '../transcript/chat-drafts.ts'
import { messageOf } from '../transcript/sent-message.ts'
import type { AttachedFile } from './attached-files.ts'

type Draft = { text: string; files: readonly AttachedFile[]; params: ChatParams }

const waitMs = 600
/** Large enough for a phone photo. Larger messages are not quoted, because the quote uploads the message a second time. */
const sizeMax = 4 * 1_048_576

/**
 * Quotes a draft after a pause in typing. Returns its maximum cost, or the reserved amount if the agent may call models
 * any number of times. Returns undefined until the quote is known, and for large messages.
 */
export function useCostText(sessionId: string, draft: Draft, isSendable: boolean): string | undefined {
  const [quoted, setQuoted] = useState<{ draft: Draft; quote: Quote }>()
  const size = draft.files.reduce((sum, { file }) => sum + file.size, draft.text.length)
  const isQuoted = isSendable && size <= sizeMax
  useEffect(() => {
    if (!isQuoted) return undefined
    const left = new AbortController()
    const quote = async () => {
      const chat = { sessionId, message: await messageOf(draft.text, draft.files), params: draft.params }
      setQuoted({ draft, quote: await client.quotes.create({ chat }, { signal: left.signal }) })
    }
    // Ignore errors. Without a quote, the composer shows the prices, and sending the message reports the error.
    const timer = setTimeout(() => void quote().catch(() => {}), waitMs)
    return () => {
      clearTimeout(timer)
      left.abort()
      setQuoted(undefined)
    }
  }, [draft, isQuoted, sessionId])
  if (quoted?.draft !== draft) return undefined
  const { holdUsd, worstCaseUsd } = quoted.quote
  if (worstCaseUsd !== undefined) return `Costs at most ${usdText(worstCaseUsd)}`
  return holdUsd && `Up to ${usdText(holdUsd)} is held. You pay only for what you use.`
}
