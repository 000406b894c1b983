import type { ChatRates } from '../../server/billing/chat-price.ts'

/**
 * Rates of input and output tokens in billionths of a USD per token, and of tool calls in millionths. Classes that are
 * not named cost the same as the class that contains them.
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
