import { nearestOf } from '../kernel/bad-input.ts'
import { environment, type EnvironmentVariables } from './config.ts'
import { limits, limitVariable, variables, type LimitName } from '../kernel/settings.ts'

/** Variables that the guides use for client programs. They may be set in the same shell. */
const ofPrograms = /^ERRAND_(?:URL|BASE_URL|API_KEY|KEY|PLATFORM_KEY|WEBHOOK_SECRET|MODEL_[A-Z_]+|TESTS_[A-Z_]+)$/

/**
 * Returns variables that look like misspelled settings, each with the most similar setting. They cause only a warning,
 * because the configuration file may use them.
 */
export function unknownVariables(env: EnvironmentVariables = environment()): { name: string; nearest: string }[] {
  const known = [...Object.keys(variables), ...(Object.keys(limits) as LimitName[]).map(limitVariable)]
  return Object.keys(env)
    .filter((name) => name.startsWith('ERRAND_') && !known.includes(name) && !ofPrograms.test(name))
    .map((name) => ({ name, nearest: nearestOf(name, known) }))
}

export function describeUnknown({ name, nearest }: { name: string; nearest: string }): string {
  return `${name} is not an Errand setting. Did you mean ${nearest}?`
}
