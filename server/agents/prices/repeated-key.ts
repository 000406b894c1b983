const token = /"(?:[^"\\]|\\.)*"|[{}[\],:]/g

/**
 * Returns the first key that occurs twice in the same object of valid JSON. `JSON.parse` would silently use the last
 * value.
 */
export function repeatedKey(json: string): string | undefined {
  /** Keys of each unclosed object, or null for an unclosed array. */
  const open: (Set<string> | null)[] = []
  let last = ''
  for (const [found] of json.matchAll(token)) {
    if (found === '{') open.push(new Set())
    else if (found === '[') open.push(null)
    else if (found === '}' || found === ']') open.pop()
    else if (found === ':') {
      const key = JSON.parse(last) as string
      const keys = open.at(-1)
      if (keys?.has(key)) return key
      keys?.add(key)
    }
    last = found
  }
  return undefined
}
