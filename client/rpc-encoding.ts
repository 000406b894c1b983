import superjson from 'superjson'
import { invalidArgument } from './client-error.ts'

/**
 * How values travel. Inputs go as plain JSON in superjson's envelope, not in superjson's own encoding: the service
 * stores params as JSON and they must mean the same as over REST, where a date is its text; and superjson refuses
 * objects with a key such as `constructor`.
 */
export const rpcEncoding = {
  input: {
    serialize: (value: unknown) => ({ json: checkedJson(value) }),
    deserialize: (value: never) => superjson.deserialize(value),
  },
  output: superjson,
}

/** Throws INVALID_ARGUMENT for what JSON cannot hold, such as a circle or a bigint. */
export function checkedJson(value: unknown): unknown {
  try {
    JSON.stringify(value)
    return value
  } catch (error) {
    throw invalidArgument('input', `Must be JSON: ${error instanceof Error ? error.message : String(error)}`)
  }
}
