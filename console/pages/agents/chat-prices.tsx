import { Text } from '@mantine/core'
import type { Agent } from '../../../client/client.ts'
import { usdText } from '../../parts/text/usd-text.ts'

/** Prices of a chat by component. Free components are omitted. */
export function ChatPrices({ chat }: { chat: NonNullable<Agent['chat']> }) {
  const { pricing, reasoning } = chat
  const rates = [
    ['input', pricing.inputPer1kUsd],
    ['cached input', pricing.cachedInputPer1kUsd === pricing.inputPer1kUsd ? '0' : pricing.cachedInputPer1kUsd],
    ['output', pricing.outputPer1kUsd],
    ['reasoning', reasoning && pricing.reasoningPer1kUsd !== pricing.outputPer1kUsd ? pricing.reasoningPer1kUsd : '0'],
  ] as const
  const charged = rates.filter(([, rate]) => /[1-9]/.test(rate))
  return (
    <Text component="span" size="sm" c="dimmed" className="tabular">
      {charged.length === 0
        ? 'Tokens are free'
        : `Per 1,000 tokens: ${charged.map(([name, rate]) => `${name} ${usdText(rate)}`).join(', ')}`}
      {/[1-9]/.test(pricing.toolCallUsd) && `; each tool call ${usdText(pricing.toolCallUsd)}`}
    </Text>
  )
}
