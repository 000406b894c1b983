import { z } from 'zod'
import { messagesMax, metadataPairs, modelName, temperature, tokensMax } from './completion-input.ts'
import { ignored, only } from './parse-input.ts'
import { samplingFields } from './sampling.ts'

/** Body of POST /v1/responses. Keep the lists in docs/guides/openai.md in sync with these fields. */
export const ResponseInput = z.strictObject({
  model: modelName,
  input: z.union([z.string().min(1), z.array(z.unknown()).min(1).max(messagesMax)], {
    error: `Must be a string or an array of 1 to ${messagesMax} messages`,
  }),
  instructions: z.string().nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.strictObject({ include_obfuscation: only(false) }).nullish(),
  store: z.boolean().nullish(),
  background: z.boolean().nullish(),
  previous_response_id: z.string().max(100).nullish(),
  conversation: z.union([z.string().max(100), z.strictObject({ id: z.string().max(100) })]).nullish(),
  temperature,
  max_output_tokens: tokensMax,
  metadata: metadataPairs,
  text: z.strictObject({ format: z.unknown().optional(), verbosity: ignored }).nullish(),

  ...samplingFields,
  top_logprobs: only(0),
  truncation: only('disabled'),
  max_tool_calls: only(),
  tools: only([]),
  tool_choice: only('auto', 'none'),
  prompt: only(),
  context_management: only([]),

  include: ignored,
  parallel_tool_calls: ignored,
  prompt_cache_key: ignored,
  prompt_cache_options: ignored,
  prompt_cache_retention: ignored,
  reasoning: ignored,
  safety_identifier: ignored,
  service_tier: ignored,
  user: ignored,
})
export type ResponseInput = z.output<typeof ResponseInput>
