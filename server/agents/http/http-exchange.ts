import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { FairPlaces } from '../../kernel/fair-places.ts'
import { codeOf } from '../../kernel/thrown.ts'
import { dial, type Dial } from '../../outbound/dial.ts'
import { exchange } from '../../outbound/exchange.ts'
import { lookupsPerUserMax } from '../../outbound/peer.ts'
import { signRequest } from '../../outbound/request-signature.ts'
import type { AgentLog } from '../config/define-config.ts'
import { agentService } from './http-failure.ts'
import type { HttpService } from './http-service.ts'

export type Post = {
  service: HttpService
  /** Task or turn id. The agent's service uses it to detect repeated requests. */
  id: string
  userId: string
  body: object
  accept: string
  /** On abort, the connection closes immediately and `post` throws the abort reason. */
  signal: AbortSignal
  log: AgentLog
  connectMs: number
  headMs?: number
  traceparent?: string | undefined
}

/**
 * Sends a signed POST request. Resolves with the response once its headers have arrived, whatever its status. The
 * caller must always destroy the response.
 */
export async function post({ accept, connectMs, headMs, id, log, ...sent }: Post): Promise<IncomingMessage> {
  const { body, service, signal, traceparent, userId } = sent
  const { key, url } = service
  const onError = (error: unknown) => {
    if (!signal.aborted) log("the connection to the agent's service failed", { code: codeOf(error) || 'UNKNOWN' })
  }
  const lookups = { userId, places }
  const socket = await dialAgain(
    { peer: agentService, url, isPrivateAllowed: true, connectMs, lookups, signal, onError },
    log,
  )
  const text = JSON.stringify(body)
  const headers = {
    ...authorization(url),
    'content-type': 'application/json',
    accept,
    ...(traceparent !== undefined && { traceparent }),
    ...signRequest([key], { id, body: text, at: new Date() }),
  }
  const createConnection = () => socket
  return await exchange({
    peer: agentService,
    url,
    method: 'POST',
    headers,
    body: text,
    signal,
    headMs,
    createConnection,
  })
}

/** Limits concurrent DNS lookups per user, separately in each thread. */
const places = new FairPlaces({ perUser: lookupsPerUserMax })

const pausesMs = [200, 1000]

/**
 * Connects to a service, with retries. A request that was sent is not retried, because the service may already have
 * acted on it. For the same reason, connections are not reused: a request fails if the service closes an idle
 * connection at that moment. Over loopback, reuse would shorten an empty task from 0.6 to 0.25 ms.
 */
async function dialAgain(options: Dial, log: AgentLog): Promise<Socket> {
  const { signal } = options
  for (let attempt = 1; ; attempt++) {
    try {
      return await dial(options)
    } catch (error) {
      const pauseMs = pausesMs[attempt - 1]
      if (signal.aborted || pauseMs === undefined) throw error
      log("retrying the request to the agent's service", {
        attempt: attempt + 1,
        reason: (error as Error).message,
      })
      await delay(pauseMs, undefined, { signal })
    }
  }
}

function authorization({ password, username }: URL): { authorization?: string } {
  if (username === '' && password === '') return {}
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` }
}
