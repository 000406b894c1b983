import type { AnyCaller } from '../procedures/caller.ts'
import { badField } from '../kernel/errors.ts'
import type { AnswerForm } from './answer-forms.ts'
import { decodeSegment } from '../kernel/request-url.ts'
import type { RoutedRequest } from './routed-request.ts'

/** A row of the route table: which requests match, who may send them, and how they are answered. */
export type Route = {
  /** Null if nothing exists at this path for any method. */
  methods: readonly string[] | null
  /**
   * Parameters are `{name}`. `{}` matches a segment that is ignored, and a final `*` matches all remaining segments.
   */
  path: string
  operation: string
  /** Whether requests may be turned away under load. */
  isGated?: boolean
  /** Throws 403 if the caller lacks access. Null if no authentication is needed. */
  auth: ((caller: AnyCaller, routed: RoutedRequest) => void) | null
  /** Type of the body, which is read after authentication. A missing optional object counts as empty. */
  body?: 'object' | 'optional object' | 'json' | 'text' | undefined
  /** Maximum body size for unauthenticated clients. Defaults to the limit for login bodies. */
  strangerBytesMax?: number
  takesIdempotencyKey?: boolean
  /** Whether a GET request writes to the audit log. */
  isAudited?: boolean
  /** Headers that pages from other origins may send, in addition to those that every route allows. */
  allowedHeaders?: readonly string[]
  form: AnswerForm
  /** Returns the result to write in the route's format, or undefined if the handler has written the response. */
  handle: (routed: RoutedRequest, body: unknown) => unknown
}

export type Match = {
  /** Undefined if the path has no route for this method. */
  route: Route | undefined
  /** One of the path's routes, for any method. All of them are turned away and rejected in the same way. */
  like: Route
  sent: Record<string, string>
  allow?: string
}

type Place = {
  segments: readonly string[]
  parameters: readonly { name: string; at: number }[]
  routes: readonly Route[]
}

export class RouteTable {
  readonly #fixed = new Map<string, Place>()
  /** Paths with parameters, by number of segments. */
  readonly #open = new Map<number, Place[]>()
  /** Paths that end in `*`. The first one with a matching prefix is used. */
  readonly #wide: Place[] = []

  constructor(routes: readonly Route[]) {
    for (const [path, ofPath] of Map.groupBy(routes, (route) => route.path)) {
      const segments = path.split('/')
      const { length } = segments
      const parameters = segments.flatMap((part, at) =>
        /^\{\w+\}$/.test(part) ? [{ name: part.slice(1, -1), at }] : [],
      )
      const place = { segments, parameters, routes: ofPath }
      if (path.endsWith('/*')) this.#wide.push(place)
      else if (path.includes('{')) this.#open.set(length, [...(this.#open.get(length) ?? []), place])
      else this.#fixed.set(path, place)
    }
    // Literal segments take precedence over parameters.
    for (const places of this.#open.values()) places.sort((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1))
  }

  match(method: string, path: string): Match | undefined {
    const segments = path.split('/')
    const others: Route[] = []
    const matchIn = (place: Place): Match | undefined => {
      for (const route of place.routes) {
        if (route.methods !== null && !route.methods.includes(method)) others.push(route)
        else return { route, like: route, sent: readSegments(place, segments) }
      }
      return undefined
    }
    // If the fixed path lacks this method, a path with a parameter may have it.
    const fixed = this.#fixed.get(path)
    let match = fixed && matchIn(fixed)
    for (const place of match ? [] : (this.#open.get(segments.length) ?? [])) {
      if (fits(place, segments) && (match = matchIn(place))) break
    }
    if (match) return match
    const wide = others.length > 0 ? undefined : this.#wide.find((place) => isAbove(place, segments))
    match = wide && matchIn(wide)
    const [like] = others
    return match ?? (like && { route: undefined, like, sent: {}, allow: allowOf(others) })
  }
}

/** Returns a sort key with one digit per segment. At the first difference, a literal sorts before a parameter. */
function orderOf({ segments }: Place): string {
  return segments.map((segment) => (segment.startsWith('{') ? '1' : '0')).join('')
}

function isAbove({ segments: parts }: Place, segments: readonly string[]): boolean {
  return parts.length <= segments.length && parts.every((part, at) => part === '*' || part === segments[at])
}

function fits({ segments: parts }: Place, segments: readonly string[]): boolean {
  for (let index = 0; index < parts.length; index++) {
    const part = parts[index]!
    if (part.startsWith('{') ? segments[index] === '' : part !== segments[index]) return false
  }
  return true
}

function allowOf(routes: readonly Route[]): string {
  return [...new Set(routes.flatMap(({ methods }) => methods ?? [])), 'OPTIONS'].join(', ')
}

function readSegments({ parameters }: Place, segments: readonly string[]): Record<string, string> {
  const sent: Record<string, string> = {}
  for (const { at, name } of parameters) sent[name] = segments[at]!
  return sent
}

/** Throws 400 if the percent-encoding is invalid. */
export function decodePath(sent: Record<string, string>): Record<string, string> {
  for (const name in sent) {
    const value = decodeSegment(sent[name]!)
    if (value === undefined) throw badField(name, 'The path has invalid percent-encoding. Correct the URL')
    sent[name] = value
  }
  return sent
}
