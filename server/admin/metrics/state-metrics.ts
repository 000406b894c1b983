import { readdir } from 'node:fs/promises'
import { Counter, Gauge, type Registry } from 'prom-client'
import type { SystemParts } from '../system-state.ts'
import { unitsPerUsd } from '../../kernel/money.ts'
import type { StoreState } from '../../store/store-state.ts'

export type StateParts = {
  chats: { readonly runningCount: number }
  connections: () => number
  gate: { readonly inFlight: { reads: number; writes: number } }
  runner: { readonly runningCount: number }
  store: { readState(): Promise<StoreState> }
  system: SystemParts
}

/** Gauges of the current state. The state is read each time metrics are requested. */
export class StateMetrics {
  readonly #parts: StateParts
  readonly #gauges
  readonly #counters
  readonly #startedAt = Date.now() / 1000 - process.uptime()

  constructor(registry: Registry, parts: StateParts) {
    this.#parts = parts
    const registers = [registry]
    const gauge = (name: string, help: string, ...labelNames: string[]) =>
      new Gauge({ name, help, labelNames, registers })
    const counter = (name: string, help: string, ...labelNames: string[]) =>
      new Counter({ name, help, labelNames, registers })
    this.#gauges = {
      info: gauge('errand_info', 'Always 1; the version is a label.', 'version'),
      accepting: gauge('errand_accepting', 'Whether the service accepts new work; 0 while it is stopping.'),
      tasks: gauge('errand_tasks', 'Unfinished tasks by status; pending tasks are queued.', 'status'),
      running: gauge('errand_running', 'Runs in progress in this process.', 'kind'),
      inFlight: gauge('errand_requests_in_flight', 'Requests in progress, excluding streams.', 'kind'),
      connections: gauge('errand_http_connections', 'Open connections of clients.'),
      threads: gauge('errand_agent_threads', 'Agent threads, by whether they are responding.', 'responding'),
      delay: gauge(
        'errand_event_loop_delay_seconds',
        'Delay of timers in the main thread over the last few minutes.',
        'quantile',
      ),
      databaseUp: gauge('errand_database_up', 'Whether the database can be read and its last write succeeded.'),
      databaseBytes: gauge('errand_database_bytes', 'Sizes of the database files.', 'file'),
      users: gauge('errand_users', 'Accounts, by state.', 'state'),
      differences: gauge('errand_ledger_differences', 'Differences found by the last check of the ledger.'),
      checkedAt: gauge('errand_ledger_checked_timestamp_seconds', 'When the ledger was last checked, in Unix time.'),
      resident: gauge('process_resident_memory_bytes', 'Resident memory.'),
      heap: gauge('nodejs_heap_size_used_bytes', 'Heap in use by the main thread.'),
      openFiles: gauge('process_open_fds', 'Open file descriptors.'),
      startedAt: gauge('process_start_time_seconds', 'When the process started, in Unix time.'),
    }
    this.#counters = {
      transactions: counter(
        'errand_transactions_total',
        'Ledger transactions committed by this process, by type; given_back is the returned part of metered tasks.',
        'type',
      ),
      usd: counter('errand_transactions_usd_total', 'Sum of the absolute amounts of these transactions.', 'type'),
      cpu: counter('process_cpu_seconds_total', 'CPU time of all threads.'),
    }
  }

  async refresh(): Promise<void> {
    const { store, system } = this.#parts
    // Report the other metrics even if the database is unreadable.
    const [state, openFiles] = await Promise.all([store.readState().catch(() => undefined), countOpenFiles()])
    this.#setProcess(openFiles)
    this.#setDatabase(state)
    if (system.ledger) {
      this.#gauges.differences.set(system.ledger.report.differences.length)
      this.#gauges.checkedAt.set(system.ledger.checkedAt / 1000)
    }
  }

  #setProcess(openFiles: number | undefined): void {
    const { chats, connections, gate, runner, system } = this.#parts
    const gauges = this.#gauges
    gauges.info.set({ version: system.version }, 1)
    gauges.accepting.set(system.isAccepting() ? 1 : 0)
    gauges.running.set({ kind: 'task' }, runner.runningCount)
    gauges.running.set({ kind: 'chat' }, chats.runningCount)
    const { reads, writes } = gate.inFlight
    gauges.inFlight.set({ kind: 'read' }, reads)
    gauges.inFlight.set({ kind: 'write' }, writes)
    gauges.connections.set(connections())
    const threads = system.agentThreads()
    const responding = threads.filter(({ isResponding }) => isResponding).length
    gauges.threads.set({ responding: 'true' }, responding)
    gauges.threads.set({ responding: 'false' }, threads.length - responding)
    const { p50, p99 } = system.loopDelay.read()
    gauges.delay.set({ quantile: '0.5' }, p50 / 1000)
    gauges.delay.set({ quantile: '0.99' }, p99 / 1000)
    const { heapUsed, rss } = process.memoryUsage()
    gauges.resident.set(rss)
    gauges.heap.set(heapUsed)
    gauges.startedAt.set(this.#startedAt)
    if (openFiles !== undefined) gauges.openFiles.set(openFiles)
    const cpu = process.cpuUsage()
    this.#counters.cpu.reset()
    this.#counters.cpu.inc((cpu.user + cpu.system) / 1e6)
  }

  #setDatabase(state: StoreState | undefined): void {
    const { databaseBytes, databaseUp, tasks, users } = this.#gauges
    databaseUp.set(state?.isWritable ? 1 : 0)
    if (!state) {
      for (const stale of [tasks, users, databaseBytes]) stale.reset()
      return
    }
    tasks.set({ status: 'pending' }, state.pendingTasks)
    tasks.set({ status: 'processing' }, state.processingTasks)
    users.set({ state: 'active' }, state.users - state.suspendedUsers)
    users.set({ state: 'suspended' }, state.suspendedUsers)
    databaseBytes.set({ file: 'database' }, state.databaseBytes)
    databaseBytes.set({ file: 'wal' }, state.walBytes)
    const { transactions, usd } = this.#counters
    transactions.reset()
    usd.reset()
    for (const [type, { count, units }] of Object.entries(state.posted)) {
      transactions.inc({ type }, count)
      usd.inc({ type }, units / unitsPerUsd)
    }
  }
}

async function countOpenFiles(): Promise<number | undefined> {
  try {
    // Do not count the descriptor that `readdir` itself opens.
    return (await readdir('/proc/self/fd')).length - 1
  } catch {
    return undefined
  }
}
