import type { IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { isHeavyJson, jsonNameBytesMax } from '../../kernel/json-values.ts'
import { expectSize, readBody } from '../../outbound/exchange.ts'
import type { TaskRun } from '../config/define-config.ts'
import { post } from './http-exchange.ts'
import { AgentServiceError, agentService, ServiceOutputTooLargeError } from './http-failure.ts'
import { expectOk } from './http-refusal.ts'
import type { HttpLimits, HttpService } from './http-service.ts'

export type HttpTask = {
  service: HttpService
  agentId: string
  name: string
  run: TaskRun
  limits: HttpLimits
}

const contentType = 'application/json'

/** Has a service run a task; resolves with the value of its JSON. */
export async function runHttpTask({ agentId, limits, name, run, service }: HttpTask): Promise<unknown> {
  const { log, params, signal, taskId, traceparent, userId } = run
  const body = { type: 'task', endpointId: `${agentId}.${name}`, endpoint: name, taskId, userId, params }
  const { connectMs, taskBytesMax, taskValuesMax } = limits
  let answer: IncomingMessage | undefined
  try {
    answer = await post({ service, id: taskId, userId, body, accept: contentType, signal, log, connectMs, traceparent })
    await expectOk(answer, contentType, limits)
    const rules = { peer: { ...agentService, Failure: ServiceOutputTooLargeError }, bytesMax: taskBytesMax }
    expectSize(answer, rules)
    const json = await buffer(readBody(answer, rules))
    if (isHeavyJson(json, taskValuesMax)) {
      throw new ServiceOutputTooLargeError(
        `The agent's service answered with more than ${taskValuesMax} values, or a name of more than ${jsonNameBytesMax} bytes.`,
      )
    }
    return parse(json)
  } catch (error) {
    throw signal.aborted ? new AgentServiceError('The run was stopped.') : error
  } finally {
    answer?.destroy()
  }
}

function parse(body: Buffer): unknown {
  if (body.length === 0) throw new AgentServiceError("The agent's service answered with an empty body.")
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch {
    throw new AgentServiceError("The agent's service answered with a body that is no JSON.")
  }
}
