import type { ChatRates } from '../../server/billing/chat-price.ts'

/**
 * Returns rates: billionths of a USD per input and output token, and millionths per tool call. A class without a rate
 * costs the same as the class that contains it.
 */
export function ratesAt(of: Partial<Omit<ChatRates, 'longContext'>>): ChatRates {
  const { input = 0, output = 0, toolCall = 0 } = of
  const { cacheRead = input, cacheWrite = input, reasoning = output } = of
  const { cacheWrite1h = cacheWrite } = of
  const [inputRate, readRate, writeRate, hourRate] = [input, cacheRead, cacheWrite, cacheWrite1h].map(trillionths)
  return {
    input: inputRate!,
    cacheRead: readRate!,
    cacheWrite: writeRate!,
    cacheWrite1h: hourRate!,
    output: trillionths(output),
    reasoning: trillionths(reasoning),
    toolCall,
    longContext: null,
  }
}

function trillionths(billionths: number): number {
  return billionths * 1000
}
