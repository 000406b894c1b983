import type { AttemptRef } from '../store/tasks/task-types.ts'
import { isoTime, type Clock } from '../kernel/clock.ts'
import type { Logger } from '../kernel/logger.ts'
import type { Store } from '../store/store.ts'
import type { TaskEnds } from './task-ends.ts'
import type { ProgressEvent, TaskProgress } from './task-schema.ts'

/** Progress of one run in this process. */
export type Live = AttemptRef & {
  /** JSON string; undefined until the run reports progress. */
  readonly progress: string | undefined
  /** The event for `progress`. All followers share one object, so it is parsed and serialized once. */
  readonly event: ProgressEvent | undefined
}

export type LiveRun = Live & {
  /** Reports progress. `json` is the JSON string of an object. */
  note(json: string): void
  /** Ends the reporting: later notes are neither sent nor stored. */
  end(): void
}

type LiveProgressParts = { clock: Clock; ends: TaskEnds; log: Logger; store: Pick<Store, 'noteProgress' | 'shared'> }

const keepMs = 1000
/** Used instead of `keepMs` after a store failure. */
const pauseMs = 5000
const notesAtOnce = 500

/**
 * Progress of the runs in this process. Followers in this process get it immediately; the store gets it once a second.
 * A run that ends within a second stores its last progress together with its end, without a separate write.
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
    const run = new Run(attempt, this.#told)
    this.#runs.set(run.taskId, run)
    ends.taskChanged(run.taskId, 'state')
    this.#plan(keepMs)
    return run
  }

  /** Called when a run reports progress (with `json`) or ends (without). */
  readonly #told = (run: Run, json?: string): void => {
    const { clock, ends } = this.#parts
    const { taskId } = run
    // Ignore this run if this process has started a later attempt of the same task.
    if (this.#runs.get(taskId) !== run) return
    if (json === undefined) return void this.#runs.delete(taskId)
    run.progress = withTime(json, isoTime(clock.now()))
    ends.taskChanged(taskId, 'progress')
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
    // Tell other nodes to re-read the task when it starts and when progress is saved.
    for (const run of new Set([...unheard, ...(isKept ? changed : [])])) {
      run.isTold = true
      store.shared?.signals.send('task-changed', run.taskId)
    }
    this.#isPlanned = false
    if (this.#runs.size > 0) this.#plan(isKept ? keepMs : pauseMs)
  }
}

class Run implements LiveRun {
  readonly taskId: string
  readonly attempt: number
  progress: string | undefined
  /** Last progress saved in the store. */
  kept: string | undefined
  /** Whether other nodes know that the run has started. */
  isTold = false
  readonly #told: (run: Run, json?: string) => void
  #event: { of: string; event: ProgressEvent } | undefined

  constructor({ attempt, taskId }: AttemptRef, told: (run: Run, json?: string) => void) {
    this.attempt = attempt
    this.taskId = taskId
    this.#told = told
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
    this.#told(this, json)
  }

  end(): void {
    this.#told(this)
  }
}

function withTime(json: string, at: string): string {
  return `${json.slice(0, -1)}${json === '{}' ? '' : ','}"at":"${at}"}`
}
