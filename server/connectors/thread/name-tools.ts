/** Maximum length of a tool name. Model providers reject longer names, and names that contain `otherChars`. */
const nameCharsMax = 64
const otherChars = /[^a-zA-Z0-9_-]/g

type Tool = { connectorName: string; toolName: string }

/**
 * Returns a unique name for each tool of a run, different from the reserved names. Uses the tool's own name if
 * possible, so that calls match the server's documentation. Otherwise adds the connector's name as a prefix.
 */
export function nameTools(tools: readonly Tool[], reserved: readonly string[]): string[] {
  const own = tools.map(({ toolName }) => clean(toolName))
  const counts = new Map<string, number>()
  for (const name of [...own, ...reserved]) counts.set(name, (counts.get(name) ?? 0) + 1)
  const taken = new Set([...reserved, ...own.filter((name) => counts.get(name) === 1)])
  // Next numeric suffix for each name, because many tools may map to the same name.
  const numbers = new Map<string, number>()
  return own.map((name, at) => {
    if (counts.get(name) === 1) return name
    const long = clean(`${tools[at]!.connectorName}_${name}`)
    let free = long
    let n = numbers.get(long) ?? 2
    for (; taken.has(free); n++) free = `${long.slice(0, nameCharsMax - String(n).length - 1)}-${n}`
    numbers.set(long, n)
    taken.add(free)
    return free
  })
}

function clean(name: string): string {
  return name.replaceAll(otherChars, '_').slice(0, nameCharsMax) || '_'
}
