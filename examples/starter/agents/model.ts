import { openai } from '@ai-sdk/openai'
import type { ModelObject } from 'errand'

/** Returns OpenAI's model, or a stub if no key is set. You can use any model of the AI SDK instead. */
export async function openModel(): Promise<ModelObject> {
  if (process.env['OPENAI_API_KEY']) return openai('gpt-5-mini')
  if (process.env['NODE_ENV'] === 'production') throw new Error('OPENAI_API_KEY: is required in production')
  const { scriptedModel } = await import('errand/testing')
  return scriptedModel("This is a stub. Set OPENAI_API_KEY in .env to get a model's answer.")
}
