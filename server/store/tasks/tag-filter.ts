import type { Dialect } from '../commands/statement.ts'

// Tags are stored as a JSON object of strings, and are found by searching for their JSON as a substring. The search is
// exact, because names contain no quotes or backslashes, and values escape both. Session lists search every session for
// all tags. Task lists read the `task_tags` rows of a single tag, and search only for the others.

export type TagValues = { tag1: string | null; tag2: string | null; tag3: string | null }

const names = ['tag1', 'tag2', 'tag3'] as const

export function hasTags({ position }: Dialect): string {
  return names.map((name) => `(CAST(:${name} AS text) IS NULL OR ${position}(tags, :${name}) > 0)`).join(' AND ')
}

/** Returns the parameters for `hasTags`. Tags are written as `name:value`. */
export function tagValues([tag1, tag2, tag3]: readonly string[]): TagValues {
  return { tag1: written(tag1), tag2: written(tag2), tag3: written(tag3) }
}

function written(tag: string | undefined): string | null {
  if (tag === undefined) return null
  const colon = tag.indexOf(':')
  return `${JSON.stringify(tag.slice(0, colon))}:${JSON.stringify(tag.slice(colon + 1))}`
}
