import { Text } from '@mantine/core'
import type { Agent } from '../../../client/client.ts'
import { tokenRates } from '../../parts/text/token-rates.ts'
import { usdText } from '../../parts/text/usd-text.ts'

/** Prices of a chat by component. Omits free components and those that cost the same as input or output. */
export function ChatPrices({ chat }: { chat: NonNullable<Agent['chat']> }) {
  const { fallbacks = [], pricing, reasoning } = chat
  const { inputPerMillionUsd: input, longContext, outputPerMillionUsd: output } = pricing
  const own = tokenRates(pricing).filter(([name, rate], index) => {
    if (index === 0 || name === 'Output') return true
    return name === 'Reasoning' ? reasoning && rate !== output : rate !== input
  })
  const charged = own.filter(([, rate]) => /[1-9]/.test(rate))
  return (
    <Text component="span" size="sm" c="dimmed" className="tabular">
      {charged.length === 0
        ? 'Tokens are free'
        : `Per million tokens: ${charged.map(([name, rate]) => `${name.toLowerCase()} ${usdText(rate)}`).join(', ')}`}
      {longContext &&
        `; prompts over ${longContext.aboveTokens.toLocaleString('en')} tokens: input ${usdText(longContext.inputPerMillionUsd)}, output ${usdText(longContext.outputPerMillionUsd)}`}
      {fallbacks.map(
        ({ model, pricing: { inputPerMillionUsd, outputPerMillionUsd } }) =>
          `; if ${model} answers: input ${usdText(inputPerMillionUsd)}, output ${usdText(outputPerMillionUsd)}`,
      )}
      {/[1-9]/.test(pricing.toolCallUsd) && `; each tool call ${usdText(pricing.toolCallUsd)}`}
    </Text>
  )
}
