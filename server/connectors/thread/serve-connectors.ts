import type { MessagePort } from 'node:worker_threads'
import { messageOf } from '../../kernel/thrown.ts'
import type { Failure, FromConnectors, ToConnectors } from './connector-protocol.ts'
import { ConnectorError, ConnectorsUnavailableError } from '../connector-spec.ts'
import type { ConnectorMeans } from '../process-places.ts'
import { openConnectors } from './open-connectors.ts'
import { probeConnector } from './probe-connector.ts'
import type { RunConnectors } from './run-connectors.ts'

type Run = { controller: AbortController; connectors: Promise<RunConnectors | undefined> }

export function serveConnectors(port: MessagePort, means: ConnectorMeans): void {
  const runs = new Map<number, Run>()
  const probes = new AbortController()
  const send = (message: FromConnectors) => port.postMessage(message)

  const open = ({ reservedNames, run, specs, waitMs }: Extract<ToConnectors, { type: 'open' }>) => {
    const controller = new AbortController()
    const opening = openConnectors(specs, { reservedNames, signal: controller.signal, waitMs, ...means })
    const connectors = opening.then(
      (opened) => {
        send({ type: 'opened', run, tools: opened.tools })
        return opened
      },
      (error: unknown) => {
        runs.delete(run)
        send({ type: 'refused', run, failure: toFailure(error) })
        return undefined
      },
    )
    runs.set(run, { controller, connectors })
  }

  const call = async ({ args, call: number, name, run }: Extract<ToConnectors, { type: 'call' }>) => {
    const connectors = await runs.get(run)?.connectors
    try {
      if (!connectors)
        throw new ConnectorError('The connectors in this run are closed. Call tools before the run ends.')
      const answer = await connectors.call(name, JSON.parse(args) as Record<string, unknown>)
      send({ type: 'answered', run, call: number, answer })
    } catch (error) {
      send({ type: 'failed', run, call: number, failure: toFailure(error) })
    }
  }

  const end = (run: number) => {
    const ending = runs.get(run)
    runs.delete(run)
    void ending?.connectors.then((connectors) => connectors?.close())
    return ending
  }

  port.on('message', (message: ToConnectors) => {
    switch (message.type) {
      case 'open':
        return open(message)
      case 'call':
        return void call(message)
      case 'abort':
        return runs.get(message.run)?.controller.abort()
      case 'close':
        return void end(message.run)
      case 'probe':
        return void probeConnector(message.request, { signal: probes.signal, ...means }).then((outcome) =>
          send({ type: 'probed', outcome }),
        )
    }
  })
  port.on('close', () => {
    probes.abort()
    for (const run of runs.keys()) end(run)?.controller.abort()
  })
}

function toFailure(error: unknown): Failure {
  const message = messageOf(error)
  if (error instanceof ConnectorsUnavailableError) return { message, kind: 'unavailable' }
  return { message, kind: error instanceof ConnectorError ? 'connector' : 'other' }
}
