import pino, { type DestinationStream, type Logger } from 'pino'
import { describeFault } from '../kernel/describe-fault.ts'

/** The log of the service: a JSON object a line, on standard error unless `destination` is given. */
export function createServiceLog(level: string, destination?: DestinationStream): Logger {
  const serializers = { err: (thrown: unknown) => describeFault(thrown) }
  return pino({ level, base: null, serializers }, destination ?? pino.destination({ dest: 2, sync: false }))
}
