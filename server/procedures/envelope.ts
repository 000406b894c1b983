import superjson, { type SuperJSONResult } from 'superjson'
import { findUnfitJson } from '../kernel/check-json.ts'
import { badField } from '../kernel/errors.ts'

type Envelope = { json?: unknown; meta?: unknown }

/**
 * Reads and writes superjson's envelope, `{ json, meta? }`. Responses contain only plain JSON. Inputs must have the
 * same values as over REST, so values other than JSON are rejected. Annotations in `meta` are applied only if there are
 * few of them and their paths exist, because superjson takes time proportional to the size of `meta` times its depth,
 * and would allocate a huge array for an annotation on `list.1000000000`.
 */
export const envelope = {
  serialize: (value: unknown): Envelope => ({ json: value }),
  deserialize: (sent: Envelope): unknown => {
    const value = sent?.json
    const unfit = findUnfitJson(value)
    if (unfit) throw badField(unfit.path, unfit.message)
    return sent?.meta === undefined ? value : applyAnnotations(value, sent.meta)
  },
}

/**
 * Limits for `meta`: the number of values, the total length of keys and strings, and the depth. An annotation is an
 * array with one value, so it counts as two values.
 */
const metaValuesMax = 10_000
const metaCharsMax = 64 * 1024
const metaDepthMax = 8

/** Throws 400 if an input, alone or in a batch, has annotations. Unauthenticated clients need only plain JSON. */
export function assertNoMeta(text: string): void {
  let sent: unknown
  try {
    sent = JSON.parse(text)
  } catch {
    // The parser reports malformed input later.
    return
  }
  if (!isRecord(sent)) return
  const inputs = [sent, ...Object.keys(sent).flatMap((key) => (/^\d+$/.test(key) ? [sent[key]] : []))]
  if (inputs.some((input) => isRecord(input) && input['meta'] !== undefined)) {
    throw badField('', 'This operation does not accept `meta`. Send plain JSON.')
  }
}

/** Applies the annotations in `meta`, which may only mark undefined members. Modifies `value` and returns it. */
function applyAnnotations(value: unknown, meta: unknown): unknown {
  assertFewAnnotations(meta)
  if (!isRecord(meta)) throw malformed()
  const { referentialEqualities, v } = meta
  const paths = undefinedPaths(meta['values'])
  // The JSON contains repeated objects in full, so do not apply the annotations that link them. Twenty nested
  // references would expand a kilobyte to a gigabyte. A null at such a path indicates a circular input.
  const isLegacy = typeof v !== 'number' || v < 1
  for (const path of textsIn(referentialEqualities)) {
    const found = find(value, segmentsOf(path, isLegacy))
    if (!found || found.container[found.key] === null)
      throw badField('', 'The input contains a circular reference. Send plain JSON.')
  }
  if (paths === 'whole') return undefined
  const known = paths.filter((path) => find(value, segmentsOf(path, isLegacy)))
  const values = Object.fromEntries(known.map((path) => [path, ['undefined' as const]]))
  const annotated = { json: value, meta: { values, v: isLegacy ? 0 : 1 } } as SuperJSONResult
  return JSON.parse(JSON.stringify(restored(annotated)))
}

function restored(annotated: SuperJSONResult): unknown {
  try {
    return superjson.deserialize(annotated, { inPlace: true })
  } catch {
    // superjson rejects malformed paths and paths such as `constructor`.
    throw malformed()
  }
}

function assertFewAnnotations(meta: unknown): void {
  const waiting: { value: unknown; depth: number }[] = [{ value: meta, depth: 1 }]
  let chars = 0
  for (let at = 0; at < waiting.length; at++) {
    const { depth, value } = waiting[at]!
    if (typeof value === 'string') chars += value.length
    if (typeof value === 'object' && value !== null) {
      if (depth > metaDepthMax) throw tooLarge()
      for (const [key, inner] of Object.entries(value)) {
        if (!Array.isArray(value)) chars += key.length
        if (waiting.push({ value: inner, depth: depth + 1 }) > metaValuesMax) throw tooLarge()
      }
    }
    if (chars > metaCharsMax) throw tooLarge()
  }
}

/** Returns the paths of undefined members, or 'whole' if the entire value is undefined. */
function undefinedPaths(values: unknown): string[] | 'whole' {
  if (values === undefined) return []
  if (Array.isArray(values)) {
    assertUndefined(values)
    return 'whole'
  }
  if (!isRecord(values)) throw malformed()
  for (const annotation of Object.values(values)) assertUndefined(annotation)
  return Object.keys(values)
}

function assertUndefined(annotation: unknown): void {
  const [kind] = textsIn(annotation)
  if (kind === undefined) throw malformed()
  if (kind !== 'undefined') {
    const shown = kind.slice(0, 40).toWellFormed()
    throw badField('', `Values of type "${shown}" are not supported. Send plain JSON.`)
  }
  if (!Array.isArray(annotation) || annotation.length !== 1) throw malformed()
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  const texts: string[] = []
  const waiting: unknown[] = [value]
  for (let inner = waiting.pop(); inner !== undefined; inner = waiting.pop()) {
    if (typeof inner === 'string') texts.push(inner)
    else if (typeof inner === 'object' && inner !== null) waiting.push(...Object.values(inner).toReversed())
  }
  return texts
}

/** Splits a superjson path into keys. A backslash escapes a dot and, since version 1 of the format, a backslash. */
function segmentsOf(path: string, isLegacy: boolean): string[] {
  const segments: string[] = []
  let segment = ''
  for (let at = 0; at < path.length; at++) {
    const isEscape = path[at] === '\\' && (path[at + 1] === '.' || (!isLegacy && path[at + 1] === '\\'))
    if (isEscape) segment += path[++at]
    else if (path[at] === '.') {
      segments.push(segment)
      segment = ''
    } else segment += path[at]
  }
  return [...segments, segment]
}

type Found = { container: Record<PropertyKey, unknown>; key: string }

function find(root: unknown, segments: readonly string[]): Found | undefined {
  let value = root
  let found: Found | undefined
  for (const key of segments) {
    // Exclude inherited properties and an array's `length`.
    if (typeof value !== 'object' || value === null || !Object.prototype.propertyIsEnumerable.call(value, key)) {
      return undefined
    }
    found = { container: value as Found['container'], key }
    value = found.container[key]
  }
  return found
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function malformed() {
  return badField('', 'The `meta` of the input is malformed. Send plain JSON.')
}

function tooLarge() {
  const limits = `${metaValuesMax} values, ${metaCharsMax} characters and ${metaDepthMax} levels`
  return badField('', `The \`meta\` of the input is larger than ${limits}. Send plain JSON.`)
}
