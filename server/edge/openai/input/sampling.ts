import { z } from 'zod'
import type { Sampling } from '../../../agents/run/chat-messages.ts'

const penalty = z.number().min(-2).max(2).nullish()
const stopText = z.string().min(1).max(1000)
const biasesMax = 1024

/** Settings that the AI SDK passes to providers that support them. */
const settings = {
  top_p: z.number().min(0).max(1).nullish(),
  presence_penalty: penalty,
  frequency_penalty: penalty,
  seed: z.number().int().nullish(),
  stop: z.union([stopText, z.array(stopText).max(4)]).nullish(),
  top_k: z.number().int().min(-1).max(1_000_000).nullish(),
}

/**
 * Settings supported by vLLM, llama.cpp, OpenRouter and other compatible servers, which validate the ranges themselves.
 */
const extraNames = [
  'min_p',
  'top_a',
  'top_n_sigma',
  'typical_p',
  'repetition_penalty',
  'repeat_penalty',
  'repeat_last_n',
  'mirostat',
  'mirostat_tau',
  'mirostat_eta',
  'dynatemp_range',
  'dynatemp_exponent',
  'xtc_probability',
  'xtc_threshold',
  'dry_multiplier',
  'dry_base',
  'dry_allowed_length',
  'dry_penalty_last_n',
] as const
type ExtraName = (typeof extraNames)[number]
const number = z.number().nullish()
const extras = Object.fromEntries(extraNames.map((name) => [name, number])) as Record<ExtraName, typeof number>

const logitBias = z
  .record(z.string().regex(/^\d{1,10}$/, 'Must be a token id'), z.number().min(-100).max(100))
  .refine((biases) => Object.keys(biases).length <= biasesMax, `Must have at most ${biasesMax} tokens`)
  .nullish()

/** Fields that control how a model chooses its tokens. Agents that are not models ignore them. */
export const samplingFields = { ...settings, ...extras, logit_bias: logitBias }

type SamplingInput = { [Name in keyof typeof samplingFields]?: z.output<(typeof samplingFields)[Name]> }

export function readSampling(given: SamplingInput): { sampling?: Sampling } {
  const { logit_bias: biases, stop } = given
  // Some servers use 0 or -1 for "all tokens".
  const topK = (given.top_k ?? 0) > 0 ? given.top_k : null
  const extra = withoutNulls({
    ...Object.fromEntries(extraNames.map((name) => [name, given[name]])),
    top_k: topK,
    logit_bias: biases && Object.keys(biases).length > 0 ? biases : null,
  })
  const sampling = withoutNulls({
    topP: given.top_p,
    topK,
    presencePenalty: given.presence_penalty,
    frequencyPenalty: given.frequency_penalty,
    seed: given.seed,
    stopSequences: stop?.length ? [stop].flat() : null,
    extra: Object.keys(extra).length > 0 ? extra : null,
  })
  return Object.keys(sampling).length > 0 ? { sampling } : {}
}

function withoutNulls<Values extends object>(values: Values): { [Name in keyof Values]?: NonNullable<Values[Name]> } {
  const given = Object.entries(values).filter(([, value]) => value !== null && value !== undefined)
  return Object.fromEntries(given) as { [Name in keyof Values]?: NonNullable<Values[Name]> }
}
