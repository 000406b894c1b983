import { taskFailureCodes } from '../../store/tasks/task-types.ts'
import { Counter, Histogram, Registry } from 'prom-client'
import { errorCatalogue, type ErrorCode } from '../../kernel/errors.ts'
import type { Meter } from '../../kernel/meter.ts'
import { unitsPerUsd } from '../../kernel/money.ts'
import { billionthsPerUnit } from '../../store/sessions/carried-cost.ts'
import type { Committed } from '../../store/committed.ts'
import { LastDay } from '../last-day.ts'
import { StateMetrics, type StateParts } from './state-metrics.ts'

/** Metric series for one operation, cached because looking up labels costs more than counting. */
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
/** Error codes of failed runs, except AGENT_INTERRUPTED: interrupted runs have the outcome `interrupted`. */
const failureCodes = new Set<string>(taskFailureCodes.filter((code) => code !== 'AGENT_INTERRUPTED'))

/**
 * The service's counters in the Prometheus text format. Label values are operations, statuses, codes and configured
 * agents, never users, ids or strings from clients. Series with known labels exist from the start, so that the
 * first event counts as an increase.
 */
export class ServiceMetrics implements Meter {
  readonly lastDay = new LastDay()
  readonly #registry = new Registry()
  #state: StateMetrics | undefined
  readonly #counters
  readonly #histograms
  readonly #series = new Map<string, RequestSeries>()

  /** `agentIds` must list all configured agents, so that their series exist from the start. */
  constructor(agentIds: readonly string[]) {
    const registers = [this.#registry]
    const counter = (name: string, help: string, ...labelNames: string[]) =>
      new Counter({ name, help, labelNames, registers })
    const histogram = (name: string, help: string, of: { buckets: number[]; labelNames?: string[] }) =>
      new Histogram({ name, help, ...of, registers })
    this.#counters = {
      requests: counter(
        'errand_http_requests_total',
        'Completed requests by operation and status; status 499 means that the client disconnected before the response.',
        'operation',
        'status',
      ),
      refusals: counter('errand_refusals_total', 'Rejected or failed calls by error code.', 'code'),
      runs: counter(
        'errand_runs_total',
        'Ended runs by kind (task or chat), outcome and agent.',
        'kind',
        'end',
        'agent',
      ),
      taskFailures: counter(
        'errand_task_failures_total',
        'Tasks that failed because of their agent, by error code.',
        'code',
      ),
      tokens: counter('errand_chat_tokens_total', 'Tokens of charged turns; completion includes reasoning.', 'kind'),
      toolCalls: counter('errand_chat_tool_calls_total', 'Tool calls of charged turns.'),
      chatCharged: counter('errand_chat_charged_usd_total', 'Amount charged for turns.', 'agent'),
      providerCost: counter(
        'errand_chat_provider_cost_usd_total',
        "Provider cost of turns, at the agent's `cost`; includes turns that were free for users.",
        'agent',
      ),
      taskCharged: counter('errand_task_charged_usd_total', 'Amount charged for completed tasks.', 'agent'),
      taskProviderCost: counter(
        'errand_task_provider_cost_usd_total',
        "Provider cost of tasks, at the agent's `cost`; includes failed tasks.",
        'agent',
      ),
      writtenOff: counter(
        'errand_chat_written_off_usd_total',
        'Cost of turns that exceeded a balance, cap or spending limit and was not charged.',
      ),
      commitFailures: counter(
        'errand_database_commit_failures_total',
        'Database transactions that failed to commit; their requests were answered with 503.',
      ),
    }
    this.#histograms = {
      requests: histogram(
        'errand_http_request_duration_seconds',
        "Time from a request's headers to the end of its response, excluding streams and long polls.",
        { buckets: requestSeconds, labelNames: ['operation'] },
      ),
      runs: histogram('errand_run_duration_seconds', 'Time from the start of a run until its end is stored.', {
        buckets: runSeconds,
        labelNames: ['kind'],
      }),
      taskWaits: histogram('errand_task_wait_seconds', 'Time from the creation of a task to its start.', {
        buckets: waitSeconds,
      }),
      commits: histogram(
        'errand_database_commit_duration_seconds',
        'Time from the start of a database transaction until its commit is on disk; one transaction can contain the writes of many requests.',
        { buckets: commitSeconds },
      ),
    }
    this.#beginAtZero(agentIds)
  }

  observe(parts: StateParts): void {
    this.#state = new StateMetrics(this.#registry, parts)
  }

  requestEnded({ operation, status, seconds }: { operation: string; status: number; seconds: number | null }): void {
    let series = this.#series.get(operation)
    if (!series) {
      series = { byStatus: new Map(), duration: this.#histograms.requests.labels(operation) }
      this.#series.set(operation, series)
    }
    let counter = series.byStatus.get(status)
    if (!counter) {
      counter = this.#counters.requests.labels(operation, String(status))
      series.byStatus.set(status, counter)
    }
    counter.inc()
    if (seconds !== null) series.duration.observe(seconds)
  }

  refused(code: ErrorCode): void {
    this.#counters.refusals.inc({ code })
  }

  taskTaken(waitedSeconds: number): void {
    this.#histograms.taskWaits.observe(waitedSeconds)
    this.lastDay.taken(waitedSeconds * 1000)
  }

  taskRun({ agentId: agent, charged, code, end, providerCost, seconds }: Parameters<Meter['taskRun']>[0]): void {
    if (charged > 0) this.#counters.taskCharged.inc({ agent }, charged / unitsPerUsd)
    if (providerCost !== null) this.#counters.taskProviderCost.inc({ agent }, usdOf(providerCost))
    this.#counters.runs.inc({ kind: 'task', end, agent })
    this.lastDay.ended({ isFailure: end !== 'completed' })
    this.#histograms.runs.observe({ kind: 'task' }, seconds)
    // Count unknown codes as AGENT_ERROR, because an agent that tampers with its thread could report any code.
    if (end === 'failed') this.#counters.taskFailures.inc({ code: failureCodes.has(code) ? code : 'AGENT_ERROR' })
  }

  tasksRecovered(runs: readonly { agentId: string }[]): void {
    for (const { agentId: agent } of runs) this.#counters.runs.inc({ kind: 'task', end: 'interrupted', agent })
  }

  chatRun({ agentId: agent, end, ...use }: Parameters<Meter['chatRun']>[0]): void {
    this.#counters.runs.inc({ kind: 'chat', end, agent })
    this.#histograms.runs.observe({ kind: 'chat' }, use.seconds)
    this.#counters.tokens.inc({ kind: 'prompt' }, use.promptTokens)
    this.#counters.tokens.inc({ kind: 'completion' }, use.completionTokens)
    this.#counters.tokens.inc({ kind: 'reasoning' }, use.reasoningTokens)
    this.#counters.toolCalls.inc(use.toolCalls)
    this.#counters.chatCharged.inc({ agent }, use.charged / unitsPerUsd)
    if (use.providerCost !== null) this.#counters.providerCost.inc({ agent }, usdOf(use.providerCost))
    this.#counters.writtenOff.inc(use.writtenOff / unitsPerUsd)
  }

  committed({ isDurable, startedAt }: Committed): void {
    if (isDurable) this.#histograms.commits.observe((performance.now() - startedAt) / 1000)
    else this.#counters.commitFailures.inc()
  }

  get contentType(): string {
    return this.#registry.contentType
  }

  async read(): Promise<string> {
    await this.#state?.refresh()
    return await this.#registry.metrics()
  }

  #beginAtZero(agentIds: readonly string[]): void {
    for (const code of Object.keys(errorCatalogue)) this.#counters.refusals.inc({ code }, 0)
    for (const code of failureCodes) this.#counters.taskFailures.inc({ code }, 0)
    for (const kind of ['prompt', 'completion', 'reasoning']) this.#counters.tokens.inc({ kind }, 0)
    for (const agent of agentIds) {
      for (const end of taskEnds) this.#counters.runs.inc({ kind: 'task', end, agent }, 0)
      for (const end of chatEnds) this.#counters.runs.inc({ kind: 'chat', end, agent }, 0)
      this.#counters.chatCharged.inc({ agent }, 0)
    }
  }
}

function usdOf(billionths: number): number {
  return billionths / billionthsPerUnit / unitsPerUsd
}
