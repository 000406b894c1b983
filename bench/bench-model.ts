import { createOpenAICompatible } from '@ai-sdk/openai-compatible'

/**
 * Returns the model of the stub provider at the URL in the environment. The service and the baseline server use the
 * same model.
 */
export function benchModel() {
  const url = process.env['BENCH_MODEL_URL']
  if (url === undefined) throw new Error('BENCH_MODEL_URL: must be the URL of the model stub')
  // Without includeUsage, a stream ends without the token counts on which the charge is based.
  return createOpenAICompatible({ name: 'bench', baseURL: url, includeUsage: true })('bench')
}

export const outputTokensMax = 1_000_000
