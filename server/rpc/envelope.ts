import superjson from 'superjson'
import { findUnfitJson } from '../kernel/check-json.ts'
import { badField } from '../kernel/errors.ts'

type Envelope = { json?: unknown; meta?: unknown }

/**
 * The envelope of typed RPC, `{ json, meta? }`, which every client with superjson reads and writes. Everything that
 * this service says is plain JSON, so answers carry no `meta` (and superjson, which refuses members named
 * `constructor`, is not asked). Inputs mean the same as over REST: what JSON cannot say is refused.
 */
export const envelope = {
  serialize: (value: unknown): Envelope => ({ json: value }),
  deserialize: (sent: Envelope): unknown => {
    if (sent?.meta === undefined) return sent?.json
    const value = readPlain(sent)
    const unfit = findUnfitJson(value)
    if (unfit) throw badField(unfit.path, unfit.message)
    return value
  },
}

/** The only kind that `meta` may name is a member that is not there; shared objects are written out. */
function readPlain(sent: Envelope): unknown {
  const { values } = sent.meta as { values?: unknown }
  const kind = kindsIn(values).find((name) => name !== 'undefined')
  if (kind !== undefined) throw badField('', `Values of the kind "${kind}" cannot be sent; send plain JSON.`)
  try {
    const json = JSON.stringify(superjson.deserialize(sent as Parameters<typeof superjson.deserialize>[0]))
    return json === undefined ? undefined : (JSON.parse(json) as unknown)
  } catch {
    throw badField('', 'The input is circular, or its `meta` malformed; send plain JSON.')
  }
}

/** The leaves of superjson's annotation trees. */
function kindsIn(values: unknown): string[] {
  if (typeof values === 'string') return [values]
  if (typeof values !== 'object' || values === null) return []
  return Object.values(values).flatMap(kindsIn)
}
