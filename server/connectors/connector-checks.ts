import type { ConnectorRecord } from '../store/connectors/connector-types.ts'
import type { Clock, EpochMs } from '../kernel/clock.ts'
import { ErrandError } from '../kernel/errors.ts'
import { FairPlaces } from '../kernel/fair-places.ts'
import type { Store } from '../store/store.ts'
import { refusalOf, type ConnectorAccess } from './connector-access.ts'
import type { ProbeOutcome, ProbeRequest, ToolCall } from './connector-spec.ts'
import type { McpTool } from './thread/mcp-connection.ts'
import type { CallResult, ConnectorTools } from './thread/probe-connector.ts'

type Parts = {
  access: ConnectorAccess
  agents: { probe: (request: ProbeRequest, signal: AbortSignal) => Promise<ProbeOutcome> }
  clock: Clock
  store: Store
  /** Checks and calls allowed per user per minute on this node, or 0 for no limit. They do not count as executions. */
  checksPerMinute: number
}

export type CheckResult = { tools: McpTool[]; failure: null } | { tools: null; failure: string }
type Probed = { json: string; failure: null } | { json: null; failure: string }

const checkMs = 20_000
/** Includes the connection and the server's list of tools. */
const callMs = 60_000
/** Maximum number of concurrent checks and calls per user. Each connects to a server of the user's choice. */
const checksMax = 4
const minuteMs = 60_000

/** Connects to users' connectors outside of runs, to test whether they work, list their tools or call one. */
export class ConnectorChecks {
  readonly #parts: Parts
  readonly #running = new FairPlaces({ perUser: checksMax })
  /** Start times of each user's checks in the last minute. The user with the latest check comes last. */
  readonly #begun = new Map<string, EpochMs[]>()

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Checks a connector and stores the result as its status. Throws the same errors as `within`. */
  async check(record: ConnectorRecord): Promise<CheckResult> {
    const { id: connectorId, updatedAt, userId } = record
    return await this.within(userId, async () => {
      const spec = await this.#parts.access.specOf(record)
      const { target } = spec
      // Without a sign-in there are no credentials to connect with. The connector's status already says so.
      if (target.kind === 'unusable' && target.needsSignIn) return { tools: null, failure: refusalOf(spec, target) }
      const late = `The check took longer than ${checkMs / 1000} seconds. Try again.`
      const { failure, json } = await this.#probe({ spec }, { late, limitMs: checkMs })
      const status = failure === null ? 'ok' : 'failed'
      await this.#parts.store.noteConnectorCheck({ connectorId, userId, updatedAt, status, statusMessage: failure })
      return failure === null ? { ...(JSON.parse(json) as ConnectorTools), failure } : { tools: null, failure }
    })
  }

  /** Calls a tool of a connector. Throws CONNECTOR_FAILED and the same errors as `within`. */
  async call(record: ConnectorRecord, call: ToolCall): Promise<CallResult> {
    return await this.within(record.userId, async () => {
      const spec = await this.#parts.access.specOf(record)
      const late = `The call took longer than ${callMs / 1000} seconds. The tool may still run.`
      const { failure, json } = await this.#probe({ spec, call }, { late, limitMs: callMs })
      if (failure !== null) throw new ErrandError('CONNECTOR_FAILED', failure)
      return JSON.parse(json) as CallResult
    })
  }

  /**
   * Runs work that connects to a server of the user's choice. Throws CONFLICT if the user has too many calls in
   * progress, or RATE_LIMIT_EXCEEDED after too many calls within a minute.
   */
  async within<Result>(userId: string, work: () => Promise<Result>): Promise<Result> {
    const place = this.#running.open(userId)
    if (place.hold(1)) {
      throw new ErrandError(
        'CONFLICT',
        `This account already has ${checksMax} connector checks or calls in progress, the maximum. Retry when one has ended.`,
      )
    }
    try {
      this.#count(userId)
      return await work()
    } finally {
      place.release()
    }
  }

  /** Enforces the limit over any 60 seconds. Rejected checks do not count. */
  #count(userId: string): void {
    const { checksPerMinute, clock } = this.#parts
    if (checksPerMinute === 0) return
    const now = clock.now()
    for (const [user, times] of this.#begun) {
      if (times.at(-1)! > now - minuteMs) break
      this.#begun.delete(user)
    }
    const times = (this.#begun.get(userId) ?? []).filter((at) => at > now - minuteMs)
    if (times.length >= checksPerMinute) {
      throw new ErrandError(
        'RATE_LIMIT_EXCEEDED',
        `At most ${checksPerMinute} connector checks and calls per minute are allowed. Wait before you try again.`,
        {
          isOtherRate: true,
          retryAfterSeconds: Math.ceil((times[0]! + minuteMs - now) / 1000),
        },
      )
    }
    this.#begun.delete(userId)
    this.#begun.set(userId, [...times, now])
  }

  async #probe(request: ProbeRequest, { late, limitMs }: { late: string; limitMs: number }): Promise<Probed> {
    const controller = new AbortController()
    const interrupted: ProbeOutcome = { kind: 'interrupted', message: late }
    const timer = setTimeout(() => controller.abort(interrupted), limitMs)
    const outcome = await this.#parts.agents.probe(request, controller.signal)
    clearTimeout(timer)
    if (outcome.kind === 'completed') return { json: outcome.json, failure: null }
    return { json: null, failure: outcome.kind === 'failed' ? outcome.error.message : outcome.message }
  }
}
