import { z } from 'zod'
import type { Sampling } from '../../agents/run/chat-messages.ts'

const penalty = z.number().min(-2).max(2).nullish()

/** How a model picks its tokens. Agents that are no models ignore it. */
export const samplingFields = {
  top_p: z.number().min(0).max(1).nullish(),
  top_k: z.number().int().min(1).max(1_000_000).nullish(),
  presence_penalty: penalty,
  frequency_penalty: penalty,
  seed: z.number().int().nullish(),
}

export const stop = z.union([z.string().min(1).max(1000), z.array(z.string().min(1).max(1000)).max(4)]).nullish()

type Given = {
  [Name in keyof typeof samplingFields]?: z.output<(typeof samplingFields)[Name]>
} & { stop?: z.output<typeof stop> }

export function readSampling(given: Given): { sampling?: Sampling } {
  const stopSequences = typeof given.stop === 'string' ? [given.stop] : given.stop
  const all = {
    topP: given.top_p,
    topK: given.top_k,
    presencePenalty: given.presence_penalty,
    frequencyPenalty: given.frequency_penalty,
    seed: given.seed,
    stopSequences: stopSequences?.length === 0 ? null : stopSequences,
  }
  const sampling = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null && value !== undefined))
  return Object.keys(sampling).length === 0 ? {} : { sampling }
}
