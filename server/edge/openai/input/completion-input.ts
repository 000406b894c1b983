import { z } from 'zod'
import { ignored, only } from './parse-input.ts'
import { samplingFields } from './sampling.ts'

export const messagesMax = 2000

export const modelName = z.string().min(1).max(200)
export const tokensMax = z.number().int().min(1).nullish()
export const temperature = z.number().min(0).max(2).nullish()
export const metadataPairs = z.record(z.string().max(64), z.string().max(512)).nullish()

/** Body of POST /v1/chat/completions. Keep the lists in docs/guides/openai.md in sync with these fields. */
export const CompletionInput = z.strictObject({
  model: modelName,
  messages: z.array(z.unknown()).min(1, 'Must have at least one message').max(messagesMax),
  stream: z.boolean().nullish(),
  stream_options: z.strictObject({ include_usage: z.boolean().nullish(), include_obfuscation: only(false) }).nullish(),
  temperature,
  max_tokens: tokensMax,
  max_completion_tokens: tokensMax,
  response_format: z.unknown().optional(),

  n: only(1),
  ...samplingFields,
  logprobs: only(false),
  top_logprobs: only(0),
  tools: only([]),
  tool_choice: only('auto', 'none'),
  functions: only([]),
  function_call: only('auto', 'none'),
  modalities: only(['text']),
  audio: only(),
  prediction: only(),
  web_search_options: only(),

  metadata: metadataPairs,
  parallel_tool_calls: ignored,
  prompt_cache_key: ignored,
  prompt_cache_retention: ignored,
  reasoning_effort: ignored,
  safety_identifier: ignored,
  service_tier: ignored,
  store: ignored,
  user: ignored,
  verbosity: ignored,
})
export type CompletionInput = z.output<typeof CompletionInput>
