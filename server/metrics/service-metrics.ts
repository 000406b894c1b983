import { Counter, Histogram, Registry } from 'prom-client'
import { errorCatalogue, type ErrorCode } from '../kernel/errors.ts'
import type { Meter } from '../kernel/meter.ts'
import { unitsPerUsd } from '../kernel/money.ts'
import type { Committed } from '../store/committed.ts'
import { taskFailureCodes } from '../store/records.ts'
import { StateMetrics, type StateParts } from './state-metrics.ts'

/** Of one kind of request; made once, because looking labels up costs more than counting. */
type RequestSeries = {
  byStatus: Map<number, Counter.Internal>
  duration: Histogram.Internal<string>
}

const requestSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const runSeconds = [0.01, 0.05, 0.25, 1, 5, 15, 60, 300, 900]
const waitSeconds = [0.005, 0.025, 0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600]
const commitSeconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1]

const taskEnds = ['completed', 'failed', 'interrupted'] as const
const chatEnds = ['finished', 'truncated', 'failed'] as const
/** Interrupted runs are counted by their end. */
const failureCodes = new Set<string>(taskFailureCodes.filter((code) => code !== 'AGENT_INTERRUPTED'))

/**
 * What the service counts, in the text format of Prometheus. No label carries a user, an id or a text of a client: values
 * are operations, statuses, codes, and the agents of the configuration. Counters begin at zero with the process, and
 * those whose labels are known are there from the start, so that the first event is seen as an increase.
 */
export class ServiceMetrics implements Meter {
  readonly #registry = new Registry()
  #state: StateMetrics | undefined
  readonly #requests
  readonly #durations
  readonly #refusals
  readonly #runs
  readonly #runDurations
  readonly #taskFailures
  readonly #taskWaits
  readonly #tokens
  readonly #toolCalls
  readonly #writtenOff
  readonly #commits
  readonly #commitFailures
  readonly #series = new Map<string, RequestSeries>()

  /** Of all agents of the configuration, so that their series are there from the start. */
  constructor(agentIds: readonly string[]) {
    const registers = [this.#registry]
    this.#requests = new Counter({
      name: 'errand_http_requests_total',
      help: 'Requests that ended, by operation and status; status 499 is a client that left before there was an answer.',
      labelNames: ['operation', 'status'],
      registers,
    })
    this.#durations = new Histogram({
      name: 'errand_http_request_duration_seconds',
      help: 'From the head of a request to the end of its answer; streams and held answers are not in it.',
      labelNames: ['operation'],
      buckets: requestSeconds,
      registers,
    })
    this.#refusals = new Counter({
      name: 'errand_refusals_total',
      help: 'Calls that were refused or failed, by the code of the error.',
      labelNames: ['code'],
      registers,
    })
    this.#runs = new Counter({
      name: 'errand_runs_total',
      help: 'Runs that ended, by kind (task, chat), end and agent.',
      labelNames: ['kind', 'end', 'agent'],
      registers,
    })
    this.#runDurations = new Histogram({
      name: 'errand_run_duration_seconds',
      help: 'From the start of a run to its stored end.',
      labelNames: ['kind'],
      buckets: runSeconds,
      registers,
    })
    this.#taskFailures = new Counter({
      name: 'errand_task_failures_total',
      help: 'Tasks that failed by their agent, by the code of their error.',
      labelNames: ['code'],
      registers,
    })
    this.#taskWaits = new Histogram({
      name: 'errand_task_wait_seconds',
      help: 'From the creation of a task to its start.',
      buckets: waitSeconds,
      registers,
    })
    this.#tokens = new Counter({
      name: 'errand_chat_tokens_total',
      help: 'Tokens of chats that were charged; completion includes reasoning.',
      labelNames: ['kind'],
      registers,
    })
    this.#toolCalls = new Counter({
      name: 'errand_chat_tool_calls_total',
      help: 'Tool calls of chats that were charged.',
      registers,
    })
    this.#writtenOff = new Counter({
      name: 'errand_chat_written_off_usd_total',
      help: 'What chats cost beyond the balances of their users, and nobody was charged.',
      registers,
    })
    this.#commits = new Histogram({
      name: 'errand_database_commit_duration_seconds',
      help: 'From the begin of a transaction of the database to its commit on the disk; one has the writes of many requests.',
      buckets: commitSeconds,
      registers,
    })
    this.#commitFailures = new Counter({
      name: 'errand_database_commit_failures_total',
      help: 'Transactions of the database that could not be committed; their requests got 503.',
      registers,
    })
    this.#beginAtZero(agentIds)
  }

  /** From then on what is true of these is read as well, whenever somebody asks. */
  observe(parts: StateParts): void {
    this.#state = new StateMetrics(this.#registry, parts)
  }

  requestEnded({ operation, status, seconds }: { operation: string; status: number; seconds: number | null }): void {
    let series = this.#series.get(operation)
    if (!series) {
      series = { byStatus: new Map(), duration: this.#durations.labels(operation) }
      this.#series.set(operation, series)
    }
    let counter = series.byStatus.get(status)
    if (!counter) {
      counter = this.#requests.labels(operation, String(status))
      series.byStatus.set(status, counter)
    }
    counter.inc()
    if (seconds !== null) series.duration.observe(seconds)
  }

  refused(code: ErrorCode): void {
    this.#refusals.inc({ code })
  }

  taskTaken(waitedSeconds: number): void {
    this.#taskWaits.observe(waitedSeconds)
  }

  taskRun({ agentId: agent, code, end, seconds }: Parameters<Meter['taskRun']>[0]): void {
    this.#runs.inc({ kind: 'task', end, agent })
    this.#runDurations.observe({ kind: 'task' }, seconds)
    // An agent that reaches into its thread could send any code.
    if (end === 'failed') this.#taskFailures.inc({ code: failureCodes.has(code) ? code : 'AGENT_ERROR' })
  }

  tasksRecovered(runs: readonly { agentId: string }[]): void {
    for (const { agentId: agent } of runs) this.#runs.inc({ kind: 'task', end: 'interrupted', agent })
  }

  chatRun({ agentId: agent, end, ...use }: Parameters<Meter['chatRun']>[0]): void {
    this.#runs.inc({ kind: 'chat', end, agent })
    this.#runDurations.observe({ kind: 'chat' }, use.seconds)
    this.#tokens.inc({ kind: 'prompt' }, use.promptTokens)
    this.#tokens.inc({ kind: 'completion' }, use.completionTokens)
    this.#tokens.inc({ kind: 'reasoning' }, use.reasoningTokens)
    this.#toolCalls.inc(use.toolCalls)
    this.#writtenOff.inc(use.writtenOff / unitsPerUsd)
  }

  committed({ isDurable, startedAt }: Committed): void {
    if (isDurable) this.#commits.observe((performance.now() - startedAt) / 1000)
    else this.#commitFailures.inc()
  }

  get contentType(): string {
    return this.#registry.contentType
  }

  async read(): Promise<string> {
    await this.#state?.refresh()
    return await this.#registry.metrics()
  }

  #beginAtZero(agentIds: readonly string[]): void {
    for (const code of Object.keys(errorCatalogue)) this.#refusals.inc({ code }, 0)
    for (const code of failureCodes) this.#taskFailures.inc({ code }, 0)
    for (const kind of ['prompt', 'completion', 'reasoning']) this.#tokens.inc({ kind }, 0)
    for (const agent of agentIds) {
      for (const end of taskEnds) this.#runs.inc({ kind: 'task', end, agent }, 0)
      for (const end of chatEnds) this.#runs.inc({ kind: 'chat', end, agent }, 0)
    }
  }
}
