import type { ConnectorRecord } from '../store/connectors/connector-types.ts'
import type { Clock, EpochMs } from '../kernel/clock.ts'
import { ErrandError } from '../kernel/errors.ts'
import { FairPlaces } from '../kernel/fair-places.ts'
import type { Store } from '../store/store.ts'
import { refusalOf, type ConnectorAccess } from './connector-access.ts'
import type { ConnectorSpec, ProbeOutcome } from './connector-spec.ts'
import type { McpTool } from './thread/mcp-connection.ts'
import type { ConnectorTools } from './thread/probe-connector.ts'

type Parts = {
  access: ConnectorAccess
  agents: { probe: (spec: ConnectorSpec, signal: AbortSignal) => Promise<ProbeOutcome> }
  clock: Clock
  store: Store
  /** Maximum checks per user and minute on this node, or 0 for no limit. Checks do not count as executions. */
  checksPerMinute: number
}

export type CheckResult = { tools: McpTool[]; failure: null } | { tools: null; failure: string }

const checkMs = 20_000
/** Maximum concurrent checks per user. Each connects to a server of the user's choice. */
const checksMax = 4
const minuteMs = 60_000

/** Connects to users' connectors outside of runs, to test whether they work and to list their tools. */
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
      const result = await this.#probe(spec)
      const status = result.failure === null ? 'ok' : 'failed'
      const statusMessage = result.failure
      await this.#parts.store.noteConnectorCheck({ connectorId, userId, updatedAt, status, statusMessage })
      return result
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
        `This account is already checking ${checksMax} connectors, the maximum. Retry when a check has ended.`,
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
        `At most ${checksPerMinute} connector checks per minute are allowed. Wait before you try again.`,
        {
          isOtherRate: true,
          retryAfterSeconds: Math.ceil((times[0]! + minuteMs - now) / 1000),
        },
      )
    }
    this.#begun.delete(userId)
    this.#begun.set(userId, [...times, now])
  }

  async #probe(spec: ConnectorSpec): Promise<CheckResult> {
    const controller = new AbortController()
    const late: ProbeOutcome = {
      kind: 'interrupted',
      message: `The check took longer than ${checkMs / 1000} seconds. Try again.`,
    }
    const timer = setTimeout(() => controller.abort(late), checkMs)
    const outcome = await this.#parts.agents.probe(spec, controller.signal)
    clearTimeout(timer)
    if (outcome.kind === 'completed') return { ...(JSON.parse(outcome.json) as ConnectorTools), failure: null }
    return { tools: null, failure: outcome.kind === 'failed' ? outcome.error.message : outcome.message }
  }
}
