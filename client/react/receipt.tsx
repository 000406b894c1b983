import type { ReactNode } from 'react'
import type { ChatUsage } from '../client.ts'
import { formatUsd } from './format-usd.ts'

export type ReceiptProps = {
  costUsd: string
  usage?: ChatUsage | undefined
  locale?: string | undefined
}

/** Shows the cost of a task or reply. With `usage`, the receipt expands to show token counts. */
export function Receipt({ costUsd, locale, usage }: ReceiptProps): ReactNode {
  const cost = formatUsd(costUsd, locale)
  if (!usage) return <span className="errand-receipt">{cost}</span>
  const count = new Intl.NumberFormat(locale)
  const rows: [string, number | undefined][] = [
    ['Input tokens', usage.promptTokens],
    ['of which cached', usage.cachedPromptTokens],
    ['Output tokens', usage.completionTokens],
    ['of which reasoning', usage.reasoningTokens],
    ['Tool calls', usage.toolCalls],
  ]
  return (
    <details className="errand-receipt">
      <summary>{cost}</summary>
      <dl>
        {rows.map(([name, value]) =>
          value ? (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{count.format(value)}</dd>
            </div>
          ) : null,
        )}
      </dl>
    </details>
  )
}
