import { isoTime, type Clock } from '../kernel/clock.ts'
import type { Logger } from '../kernel/logger.ts'
import type { AttemptRef } from '../store/records.ts'
import type { Store } from '../store/store.ts'
import type { TaskEnds } from './task-ends.ts'
import type { ProgressEvent, TaskProgress } from './task-schema.ts'

/** How far a run of this process has come. */
export type Live = AttemptRef & {
  /** JSON text; undefined until it has said something. */
  readonly progress: string | undefined
  /** The event of that progress: one object for all followers, so that it is parsed and serialized once. */
  readonly event: ProgressEvent | undefined
}

/** A run that is under way. */
export type LiveRun = Live & {
  /** JSON text of an object. */
  note(json: string): void
  /** Nothing of it is told or kept any more. */
  end(): void
}

type LiveProgressParts = { clock: Clock; ends: TaskEnds; log: Logger; store: Pick<Store, 'noteProgress' | 'shared'> }

const keepMs = 1000
/** After the store has failed. */
const pauseMs = 5000
const notesAtOnce = 500

/**
 * What the runs of this process say of their progress: told at once to those who follow a task here, and kept once a
 * second. A run that ends sooner keeps it with its end, and costs no write of its own.
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

  /** An attempt was claimed and begins. */
  begin(attempt: AttemptRef): LiveRun {
    const { ends } = this.#parts
    const run = new Run(attempt, this.#told)
    this.#runs.set(run.taskId, run)
    ends.taskChanged(run.taskId, 'state')
    this.#plan(keepMs)
    return run
  }

  /** A run says something, or has ended. */
  readonly #told = (run: Run, json?: string): void => {
    const { clock, ends } = this.#parts
    const { taskId } = run
    // An attempt of which this process knows a later one says nothing any more.
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
      log.warn({ err: error }, 'the progress of tasks cannot be kept; it is tried again')
    }
    // To other nodes, that they look: of the begin and of what is kept.
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
  /** As it is kept. */
  kept: string | undefined
  /** Whether other nodes know of its begin. */
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
