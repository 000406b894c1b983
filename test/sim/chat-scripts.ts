import type { ChatStep } from './sim-agents.ts'
import type { ExpectedTurn } from './sim-state.ts'
import type { SimWorld } from './sim-world.ts'

export const deltas = ['word ', 'naïve ', '日本 ', '😀 ', 'a longer piece of a sentence, ', '"quoted" ', '\n'] as const

type Script = { steps: ChatStep[]; expected: ExpectedTurn }

export const none = { promptTokens: 0, cachedPromptTokens: 0, completionTokens: 0, reasoningTokens: 0, toolCalls: 0 }

/** A successful reply, and the receipt expected if the agent reports its usage. */
export function finishingScript(world: SimWorld): Script {
  const { random } = world
  const steps: ChatStep[] = []
  const receipt = { ...none }
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
      receipt.toolCalls++
      steps.push({ do: 'call', id }, { do: 'result', id })
    } else {
      const [prompt, completion] = [random.between(0, 400), random.between(0, 400)]
      const [cached, reasoning] = [random.between(0, prompt), random.between(0, completion)]
      isReported = true
      receipt.promptTokens += prompt
      receipt.cachedPromptTokens += cached
      receipt.completionTokens += completion
      receipt.reasoningTokens += reasoning
      steps.push({ do: 'usage', prompt, cached, completion, reasoning })
    }
  }
  return { steps, expected: { outcomes: ['finished'], text, ...(isReported && { receipt }) } }
}
