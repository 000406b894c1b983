import type { Caller } from '../auth/caller.ts'
import { badField } from '../kernel/errors.ts'
import type { AnswerForm } from './answer-forms.ts'
import { decodeSegment } from '../kernel/request-url.ts'
import type { RoutedRequest } from './routed-request.ts'

/** One row of the table: what may be asked for, of whom, and how it is answered. */
export type Route = {
  /** Null where nothing is, whatever is asked of it. */
  methods: readonly string[] | null
  /** With parameters as `{name}`; `{}` is a segment that nobody reads, and a last `*` all that follow. */
  path: string
  /** The name that metrics know it by. */
  operation: string
  /** Whether it may be turned away under load. */
  isGated?: boolean
  /** Throws 403 for a caller whom it is not for; null of what needs no authentication. */
  auth: ((caller: Caller, routed: RoutedRequest) => void) | null
  /** Read after the caller is known, if there is one; an optional object that is not sent is an empty one. */
  body?: 'object' | 'optional object' | 'json' | 'text' | undefined
  /** How large a body may be that comes without authentication; that of a login when left out. */
  strangerBytesMax?: number
  takesIdempotencyKey?: boolean
  /** Which headers pages of other origins may send, beside those of all routes. */
  allowedHeaders?: readonly string[]
  /** How its results and errors are written. */
  form: AnswerForm
  /** Returns what is answered in its form; undefined when it has answered itself. */
  handle: (routed: RoutedRequest, body: unknown) => unknown
}

export type Match = {
  /** Undefined when the path has routes, and none of this method. */
  route: Route | undefined
  /** A route of that path: all of one path are gated and refused alike. */
  like: Route
  /** What stands in the path for its parameters, as it was sent. */
  sent: Record<string, string>
  /** For Allow, when there is no route. */
  allow?: string
}

type Place = {
  segments: readonly string[]
  /** Those that are read, and where they stand. */
  parameters: readonly { name: string; at: number }[]
  routes: readonly Route[]
}

/** All routes of the service. */
export class RouteTable {
  readonly #fixed = new Map<string, Place>()
  /** By the number of their segments. */
  readonly #open = new Map<number, Place[]>()
  /** The first whose beginning fits has the path. */
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
    // What a path names itself goes before what may stand there.
    for (const places of this.#open.values()) places.sort((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1))
  }

  /** Undefined where the table has nothing to say of a path. */
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
    // A fixed path may also be one with a parameter, of another method.
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

/** A digit for each segment; of two places the earlier one names the first segment at which they differ. */
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

/** The parameters of a path without their percent-encoding. Throws 400 where it is broken. */
export function decodePath(sent: Record<string, string>): Record<string, string> {
  for (const name in sent) {
    const value = decodeSegment(sent[name]!)
    if (value === undefined) throw badField(name, 'The percent-encoding of the path is broken')
    sent[name] = value
  }
  return sent
}
