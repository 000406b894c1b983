import type { IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { writtenPricing } from '../../billing/event-charges.ts'
import { heavinessOf } from '../../kernel/json-values.ts'
import { expectSize, readBody } from '../../outbound/exchange.ts'
import type { EndpointRun } from '../run/endpoint-run.ts'
import { clip } from '../../kernel/clip.ts'
import { post } from './http-exchange.ts'
import { AgentServiceError, agentService, ServiceOutputTooLargeError } from './http-failure.ts'
import { eventIn, linesType, readLines } from './http-lines.ts'
import { expectOk } from './http-refusal.ts'
import type { HttpLimits, HttpService } from './http-service.ts'

export type HttpTask = {
  service: HttpService
  agentId: string
  name: string
  run: EndpointRun
  limits: HttpLimits
}

const contentType = 'application/json'
const accept = `${contentType}, ${linesType}`

/**
 * Sends the task to the agent's service. Resolves with the JSON value of the response body, or of the `result` line if
 * the body is NDJSON.
 */
export async function runHttpTask({ agentId, limits, name, run, service }: HttpTask): Promise<unknown> {
  const { log, params, signal, taskId, traceparent, userId } = run
  const about = { type: 'task', endpointId: `${agentId}.${name}`, endpoint: name, taskId, userId, params }
  const body = { ...about, ...(run.metering && { pricing: writtenPricing(run.metering) }) }
  const { connectMs, taskBytesMax, taskValuesMax } = limits
  let answer: IncomingMessage | undefined
  try {
    answer = await post({ service, id: taskId, userId, body, accept, signal, log, connectMs, traceparent })
    const type = await expectOk(answer, [contentType, linesType], limits)
    if (type === linesType) return await followLines(answer, run, limits)
    const rules = { peer: agentService, TooLarge: ServiceOutputTooLargeError, bytesMax: taskBytesMax }
    expectSize(answer, rules)
    const json = await buffer(readBody(answer, rules))
    assertLight(json, taskValuesMax)
    return parse(json)
  } catch (error) {
    throw signal.aborted ? new AgentServiceError('The run was stopped.') : error
  } finally {
    answer?.destroy()
  }
}

/** Reads an NDJSON body up to its `result` line. Every other line reports progress or a charge. */
async function followLines(answer: IncomingMessage, run: EndpointRun, limits: HttpLimits): Promise<unknown> {
  const chunks = readBody(answer, { peer: agentService, bytesMax: Infinity })
  for await (const line of readLines(chunks, limits.lineBytesMax)) {
    if (line.length > lightChars) assertLight(Buffer.from(line), limits.taskValuesMax)
    const { type, ...rest } = eventIn(line)
    if (type === 'result') return (rest as { result?: unknown }).result
    if (type === 'progress') run.progress(rest)
    else if (type === 'charge') {
      const { count, event } = rest as { event: string; count?: number }
      run.charge(event, count)
    } else {
      const shown = clip(JSON.stringify(type) ?? 'none', 100)
      throw new AgentServiceError(
        `The agent's service sent a line of type ${shown}. Use progress, charge, result or error.`,
      )
    }
  }
  throw new AgentServiceError(
    "The agent's service ended its response without a result. End it with a line of type result or error.",
  )
}

/** Lines up to this length are too short to exceed the maximum number of JSON values, so they are not checked. */
const lightChars = 16_000

function assertLight(json: Buffer, valuesMax: number): void {
  const heaviness = heavinessOf(json, valuesMax)
  if (heaviness === undefined) return
  throw new ServiceOutputTooLargeError(`The agent's service responded with ${heaviness}. Return a smaller result.`)
}

function parse(body: Buffer): unknown {
  if (body.length === 0)
    throw new AgentServiceError("The agent's service responded with an empty body. Send the result as JSON.")
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch {
    throw new AgentServiceError("The agent's service responded with a body that is not JSON. Send the result as JSON.")
  }
}
