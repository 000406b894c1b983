import { isIPv6 } from 'node:net'

/**
 * Splits a request target into path and query. Avoids URL objects, which throw on some targets that Node's HTTP parser
 * accepts. Returns undefined if the target has no path on this service, or is in absolute form without a valid host,
 * such as `http://[`.
 */
export function splitTarget(target: string): { path: string; query: string } | undefined {
  let rest = target
  if (!rest.startsWith('/')) {
    const [, host, after = ''] = /^https?:\/\/([^/?#]+)([/?#].*)?$/i.exec(rest) ?? []
    if (host === undefined || !isHost(host)) return undefined
    rest = after.startsWith('/') ? after : `/${after}`
  }
  const hash = rest.indexOf('#')
  if (hash !== -1) rest = rest.slice(0, hash)
  const mark = rest.indexOf('?')
  return mark === -1 ? { path: rest, query: '' } : { path: rest.slice(0, mark), query: rest.slice(mark + 1) }
}

/** Whether a string is a host name or address with an optional port, and without a user name or password. */
export function isHost(text: string): boolean {
  const [, address, port = ''] = /^(\[[\da-f:.]+\]|[\w.-]+)(?::(\d{0,5}))?$/i.exec(text) ?? []
  if (address === undefined || Number(port) > 65_535) return false
  return !address.startsWith('[') || isIPv6(address.slice(1, -1))
}

export function decodeSegment(segment: string): string | undefined {
  if (!segment.includes('%')) return segment
  try {
    return decodeURIComponent(segment)
  } catch {
    return undefined
  }
}

const shownCharsMax = 200
/** Matches API keys and tokens, webhook secrets, and the tokens of browser sessions and invitations. */
const secretPattern = /(?:errand_(?:sk|pk|ct)_|whsec_)[\w+/=%-]*|[\w-]{43,}/gi

/**
 * Shortens a path for logs and traces. Redacts anything that looks like a secret, because clients put secrets into
 * paths by mistake.
 */
export function shownPath(path: string): string {
  const shown = path.replaceAll(secretPattern, '***')
  return shown.length > shownCharsMax ? `${shown.slice(0, shownCharsMax)}…` : shown
}
