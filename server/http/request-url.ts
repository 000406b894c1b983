/**
 * The path and query of a request target, without an URL object: some targets that Node's parser lets through, such as
 * `http://[`, make that throw. Undefined when the target has no path of ours.
 */
export function splitTarget(target: string): { path: string; query: string } | undefined {
  let rest = target
  if (!rest.startsWith('/')) {
    const absolute = /^https?:\/\/[^/?#]+(\/.*)?$/i.exec(rest)
    if (!absolute) return undefined
    rest = absolute[1] ?? '/'
  }
  const hash = rest.indexOf('#')
  if (hash !== -1) rest = rest.slice(0, hash)
  const mark = rest.indexOf('?')
  return mark === -1 ? { path: rest, query: '' } : { path: rest.slice(0, mark), query: rest.slice(mark + 1) }
}

/** One decoded segment of a path; undefined when its percent-encoding is broken. */
export function decodeSegment(segment: string): string | undefined {
  if (!segment.includes('%')) return segment
  try {
    return decodeURIComponent(segment)
  } catch {
    return undefined
  }
}
