import { createOpenAICompatible } from '@ai-sdk/openai-compatible'

/** The model of the stub whose URL the environment names; the same object for the service and for the bare loop. */
export function benchModel() {
  const url = process.env['BENCH_MODEL_URL']
  if (url === undefined) throw new Error('BENCH_MODEL_URL: must be the URL of the model stub')
  // Without includeUsage a stream ends without the counts that the chat is charged by.
  return createOpenAICompatible({ name: 'bench', baseURL: url, includeUsage: true })('bench')
}

export const outputTokensMax = 1_000_000
