import { simPricing, type ChatStep } from './sim-agents.ts'
import type { ExpectedTurn } from './sim-state.ts'
import type { SimWorld } from './sim-world.ts'

export const deltas = ['word ', 'naïve ', '日本 ', '😀 ', 'a longer piece of a sentence, ', '"quoted" ', '\n'] as const

type Script = { steps: ChatStep[]; expected: ExpectedTurn }

const noTokens = {
  promptTokens: 0,
  cachedPromptTokens: 0,
  cacheWriteTokens: 0,
  cacheWrite1hTokens: 0,
  completionTokens: 0,
  reasoningTokens: 0,
}
export const none = { promptTokens: 0, cachedPromptTokens: 0, completionTokens: 0, reasoningTokens: 0, toolCalls: 0 }

/** Returns a script for a successful reply, and the expected receipt if the agent reports its usage. */
export function finishingScript(world: SimWorld): Script {
  const { random } = world
  const steps: ChatStep[] = []
  const [all, long] = [{ ...noTokens }, { ...noTokens }]
  let toolCalls = 0
  let text = ''
  let isReported = false
  for (let n = random.between(1, 6); n > 0; n--) {
    const kind = random.pick(['text', 'text', 'think', 'tool', 'usage'] as const)
    if (kind === 'text') {
      const step = { do: kind, delta: random.pick(deltas), times: random.between(1, 5) } as const
      text += step.delta.repeat(step.times)
      steps.push(step)
    } else if (kind === 'think') steps.push({ do: kind, delta: random.pick(deltas) })
    else if (kind === 'tool') {
      const id = `call-${steps.length}`
      toolCalls++
      steps.push({ do: 'call', id }, { do: 'result', id })
    } else {
      const [prompt, completion] = [random.between(0, 400), random.between(0, 400)]
      const [cached, reasoning] = [random.between(0, prompt), random.between(0, completion)]
      const written = random.between(0, prompt - cached)
      const writtenForAnHour = random.between(0, written)
      isReported = true
      for (const counts of prompt > simPricing.longContext.aboveTokens ? [all, long] : [all]) {
        counts.promptTokens += prompt
        counts.cachedPromptTokens += cached
        counts.cacheWriteTokens += written
        counts.cacheWrite1hTokens += writtenForAnHour
        counts.completionTokens += completion
        counts.reasoningTokens += reasoning
      }
      steps.push({ do: 'usage', prompt, cached, written: [written, writtenForAnHour], completion, reasoning })
    }
  }
  const receipt = { ...all, toolCalls, longContext: long }
  return { steps, expected: { outcomes: ['finished'], text, ...(isReported && { receipt }) } }
}
