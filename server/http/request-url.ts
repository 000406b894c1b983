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

const shownCharsMax = 200
/** Keys, webhook secrets, and the tokens of logins and invitations. */
const secretPattern = /(?:errand_sk_|whsec_)[\w+/=%-]*|[\w-]{43,}/gi

/** A path as logs and traces have it: short, and without what looks like a secret that a client put there by mistake. */
export function shownPath(path: string): string {
  const shown = path.replaceAll(secretPattern, '***')
  return shown.length > shownCharsMax ? `${shown.slice(0, shownCharsMax)}…` : shown
}
