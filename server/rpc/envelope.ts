import superjson from 'superjson'
import { findUnfitJson } from '../kernel/check-json.ts'
import { badField, ErrandError } from '../kernel/errors.ts'

type Envelope = { json?: unknown; meta?: unknown }

/**
 * The envelope of typed RPC, `{ json, meta? }`, which every client with superjson reads and writes. Everything that
 * this service says is plain JSON, so answers carry no `meta` (and superjson, which refuses members named
 * `constructor`, is not asked). Inputs mean the same as over REST: what JSON cannot say is refused.
 */
export const envelope = {
  serialize: (value: unknown): Envelope => ({ json: value }),
  deserialize: (sent: Envelope): unknown => {
    const value = sent?.meta === undefined ? sent?.json : readPlain(sent)
    const unfit = findUnfitJson(value)
    if (unfit) throw badField(unfit.path, unfit.message)
    return value
  },
}

function readPlain(sent: Envelope): unknown {
  try {
    return withoutMeta(sent)
  } catch (error) {
    if (error instanceof ErrandError) throw error
    throw badField('', 'The `meta` of the input is malformed; send plain JSON.')
  }
}

/** The only kind that `meta` may name is a member that is not there. */
function withoutMeta(sent: Envelope): unknown {
  const { values, referentialEqualities, v } = sent.meta as Record<string, unknown>
  const kind = kindsIn(values).find((name) => name !== 'undefined')
  if (kind !== undefined) throw badField('', `Values of the kind "${kind}" cannot be sent; send plain JSON.`)
  // Shared objects are written out in the JSON already, so their notes are not followed: twenty of them, each naming
  // the one before twice, would make a gigabyte of a kilobyte. Only a circle has nothing written where it closes.
  if (kindsIn(referentialEqualities).some((path) => valueAt(sent.json, path) === null)) {
    throw badField('', 'The input is circular; send plain JSON.')
  }
  const plain = { json: sent.json, meta: { values, v } } as Parameters<typeof superjson.deserialize>[0]
  const json = JSON.stringify(superjson.deserialize(plain))
  return json === undefined ? undefined : (JSON.parse(json) as unknown)
}

/** The value at one of superjson's paths, in which dots and backslashes of a key are escaped. */
function valueAt(json: unknown, path: string): unknown {
  let value = json
  for (const [, key] of path.matchAll(/((?:[^.\\]|\\.)*)(?:\.|$)/gs)) {
    if (key === '' && value !== json) break
    const name = key!.replaceAll(/\\(.)/gs, '$1')
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return null
    value = (value as Record<string, unknown>)[name]
  }
  return value
}

/** The leaves of superjson's annotation trees. */
function kindsIn(values: unknown): string[] {
  if (typeof values === 'string') return [values]
  if (typeof values !== 'object' || values === null) return []
  return Object.values(values).flatMap(kindsIn)
}
