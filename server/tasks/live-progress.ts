import type { AttemptRef } from '../store/tasks/task-types.ts'
import { isoTime, type Clock } from '../kernel/clock.ts'
import type { Logger } from '../kernel/logger.ts'
import type { Store } from '../store/store.ts'
import type { TaskEnds } from './task-ends.ts'
import { RunLog } from './run-log.ts'
import type { LogLine, ProgressEvent, TaskProgress } from './task-schema.ts'

export type Live = AttemptRef & {
  /** Progress as a JSON string. Undefined until the run reports progress. */
  readonly progress: string | undefined
  /** Event for `progress`. All followers share this object, so it is parsed and serialized only once. */
  readonly event: ProgressEvent | undefined
}

export type LiveRun = Live & {
  /** Reports progress. `json` must be a JSON object. */
  note(json: string): void
  log(line: Omit<LogLine, 'at'>): void
  noteConnectors(ms: number): void
  readonly runLog: string | undefined
  /** Ends the reporting. Later calls to `note` have no effect. */
  end(): void
}

type LiveProgressParts = { clock: Clock; ends: TaskEnds; log: Logger; store: Pick<Store, 'noteProgress' | 'shared'> }

const keepMs = 1000
/** Delay before the next write after a failed one. The normal delay is `keepMs`. */
const pauseMs = 5000
const notesAtOnce = 500

/**
 * Progress of the runs in this process. Followers in this process receive it immediately, and the store once a second.
 * If a run ends within a second, its last progress is stored together with its end, without a separate write.
 */
export class LiveProgress {
  readonly #parts: LiveProgressParts
  readonly #runs = new Map<string, Run>()
  #isPlanned = false

  constructor(parts: LiveProgressParts) {
    this.#parts = parts
  }

  of(taskId: string): Live | undefined {
    return this.#runs.get(taskId)
  }

  begin(attempt: AttemptRef): LiveRun {
    const { ends } = this.#parts
    const run = new Run(attempt, { told: this.#told, now: this.#now })
    this.#runs.set(run.taskId, run)
    ends.taskChanged(run.taskId, 'state')
    this.#plan(keepMs)
    return run
  }

  readonly #now = () => isoTime(this.#parts.clock.now())

  /** Called with `json` when a run reports progress, and without it when the run ends. */
  readonly #told = (run: Run, json?: string): void => {
    const { taskId } = run
    // This process may have started a later attempt of the same task.
    if (this.#runs.get(taskId) !== run) return
    if (json === undefined) return void this.#runs.delete(taskId)
    run.progress = withTime(json, this.#now())
    if (json.includes('"message":')) run.lines.addProgress(JSON.parse(run.progress) as TaskProgress)
    this.#parts.ends.taskChanged(taskId, 'progress')
  }

  #plan(inMs: number): void {
    if (this.#isPlanned) return
    this.#isPlanned = true
    setTimeout(() => void this.#keep(), inMs).unref()
  }

  async #keep(): Promise<void> {
    const { log, store } = this.#parts
    const changed = [...this.#runs.values()].filter((run) => run.progress !== run.kept)
    const unheard = [...this.#runs.values()].filter((run) => !run.isTold)
    let isKept = true
    try {
      for (let first = 0; first < changed.length; first += notesAtOnce) {
        const some = changed.slice(first, first + notesAtOnce)
        const notes = some.map(({ attempt, progress, taskId }) => ({ taskId, attempt, progress: progress! }))
        await store.noteProgress(notes)
        for (const [index, run] of some.entries()) run.kept = notes[index]!.progress
      }
    } catch (error) {
      isKept = false
      log.warn({ err: error }, 'could not store the progress of tasks; retrying')
    }
    // Tell other nodes to read a task again after it starts and after its progress is stored.
    for (const run of new Set([...unheard, ...(isKept ? changed : [])])) {
      run.isTold = true
      store.shared?.signals.send('task-changed', run.taskId)
    }
    this.#isPlanned = false
    if (this.#runs.size > 0) this.#plan(isKept ? keepMs : pauseMs)
  }
}

type RunParts = { told: (run: Run, json?: string) => void; now: () => string }

class Run implements LiveRun {
  readonly taskId: string
  readonly attempt: number
  progress: string | undefined
  kept: string | undefined
  /** Whether other nodes were notified of the start of the run. */
  isTold = false
  readonly lines = new RunLog()
  readonly #parts: RunParts
  #event: { of: string; event: ProgressEvent } | undefined

  constructor({ attempt, taskId }: AttemptRef, parts: RunParts) {
    this.attempt = attempt
    this.taskId = taskId
    this.#parts = parts
  }

  get event(): ProgressEvent | undefined {
    const { attempt, progress: of } = this
    if (of === undefined) return undefined
    if (this.#event?.of !== of) {
      const progress = JSON.parse(of) as TaskProgress
      this.#event = { of, event: { type: 'progress', timestamp: progress.at, attempt, progress } }
    }
    return this.#event.event
  }

  note(json: string): void {
    this.#parts.told(this, json)
  }

  log(line: Omit<LogLine, 'at'>): void {
    this.lines.addLine({ at: this.#parts.now(), ...line })
  }

  noteConnectors(ms: number): void {
    this.lines.connectorMs = Math.round(ms)
  }

  get runLog(): string | undefined {
    return this.lines.json
  }

  end(): void {
    this.#parts.told(this)
  }
}

function withTime(json: string, at: string): string {
  return `${json.slice(0, -1)}${json === '{}' ? '' : ','}"at":"${at}"}`
}
