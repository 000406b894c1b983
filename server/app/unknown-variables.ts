import { environment } from './config.ts'
import { limits, limitVariable, variables, type LimitName } from '../kernel/settings.ts'

/** Variables from the guides for programs that call the service, which may run in the same shell. */
const ofPrograms = /^ERRAND_(?:URL|BASE_URL|API_KEY|KEY|PLATFORM_KEY|WEBHOOK_SECRET|MODEL_[A-Z_]+|TESTS_[A-Z_]+)$/

/**
 * Returns variables that look like settings but are not, each with the most similar setting. They are only reported,
 * because the configuration file may read its own variables.
 */
export function unknownVariables(env: NodeJS.ProcessEnv = environment()): { name: string; nearest: string }[] {
  const known = [...Object.keys(variables), ...(Object.keys(limits) as LimitName[]).map(limitVariable)]
  return Object.keys(env)
    .filter((name) => name.startsWith('ERRAND_') && !known.includes(name) && !ofPrograms.test(name))
    .map((name) => ({ name, nearest: nearestOf(name, known) }))
}

export function describeUnknown({ name, nearest }: { name: string; nearest: string }): string {
  return `${name} is not an Errand setting; did you mean ${nearest}?`
}

function nearestOf(name: string, known: readonly string[]): string {
  const near = known.map((other) => ({ other, edits: editsBetween(name, other) }))
  return near.reduce((best, one) => (one.edits < best.edits ? one : best)).other
}

/** Levenshtein distance. */
function editsBetween(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (let at = 1; at <= one.length; at++) {
    const next = [at]
    for (let to = 1; to <= other.length; to++) {
      const replaced = row[to - 1]! + (one[at - 1] === other[to - 1] ? 0 : 1)
      next.push(Math.min(replaced, row[to]! + 1, next[to - 1]! + 1))
    }
    row = next
  }
  return row.at(-1)!
}
