import { useDebouncedValue } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { client } from '../../../app/api-client.ts'
import { usdText } from '../../../parts/text/usd-text.ts'
import { messageOf } from '../transcript/sent-message.ts'
import type { ChatParams } from '../transcript/chat-drafts.ts'
import type { AttachedFile } from './attached-files.ts'

type Draft = { text: string; files: readonly AttachedFile[]; params: ChatParams }

const waitMs = 600
/** The files are sent with the quote, so larger ones would be sent twice. */
const fileBytesMax = 1_048_576

/** Quotes a draft: its maximum cost, or the amount held if an agent may call models any number of times. */
export function useCostText(sessionId: string, draft: Draft, isSendable: boolean): string | undefined {
  const [settled] = useDebouncedValue(draft, waitMs)
  const isCurrent = settled === draft
  const { files, params, text } = draft
  const isSmall = files.reduce((sum, { file }) => sum + file.size, 0) <= fileBytesMax
  const quote = useQuery({
    queryKey: ['quote', sessionId, text, files.map(({ key }) => key), params],
    queryFn: async ({ signal }) => {
      const chat = { sessionId, message: await messageOf(text, files), params }
      return await client.quotes.create({ chat }, { signal })
    },
    enabled: isSendable && isCurrent && isSmall,
    staleTime: 60_000,
    gcTime: 60_000,
    retry: false,
  })
  if (!isCurrent || !quote.data) return undefined
  const { holdUsd, worstCaseUsd } = quote.data
  if (worstCaseUsd !== undefined) return `Costs at most ${usdText(worstCaseUsd)}`
  return holdUsd && `Holds ${usdText(holdUsd)}, charges only the usage`
}
