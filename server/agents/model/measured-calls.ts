import type { LanguageModelMiddleware } from 'ai'
import type { TaskTokens } from '../run/task-tokens.ts'
import { ModelSteps } from './model-steps.ts'

/** Counts the tokens of a task's model calls, and limits each call to the remainder of the task's maximum cost. */
export function measuredCalls(
  tokens: TaskTokens,
  { contextTokens, outputTokensMax }: { contextTokens: number; outputTokensMax: number },
) {
  const steps = new ModelSteps({
    contextTokens,
    openStep: async (step) => ({ outputTokensMax: tokens.open(step), onEnd: () => {} }),
    onUsage: ({ type: _, ...usage }) => tokens.report(usage),
  })
  const texts: string[] = []
  let hasAnswered = false
  const middleware: LanguageModelMiddleware = {
    transformParams: async ({ params }) => {
      const sent = { ...params, maxOutputTokens: params.maxOutputTokens ?? outputTokensMax }
      const maxOutputTokens = await steps.begin(sent)
      // Forbid further tool calls, so that the model answers with the results it has.
      const isLast = tokens.isLastCall && params.tools !== undefined
      return { ...sent, maxOutputTokens, ...(isLast && { toolChoice: { type: 'none' } }) }
    },
    wrapGenerate: async ({ doGenerate }) => {
      const result = await doGenerate()
      hasAnswered = true
      steps.answered()
      for (const part of result.content) {
        if (part.type === 'text') texts.push(part.text)
        if (part.type === 'text' || part.type === 'reasoning') steps.wrote(part.text, part.type === 'reasoning')
        else if (part.type === 'tool-call') steps.wrote(part.input)
      }
      steps.reported(result.usage)
      await steps.end(result.finishReason.unified)
      return result
    },
  }
  return {
    middleware,
    get text(): string {
      return texts.join('\n\n')
    },
    get hasAnswered(): boolean {
      return hasAnswered
    },
  }
}
