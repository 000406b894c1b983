import type { TaskRecord } from '../store/tasks/task-types.ts'
import type { StreamReader } from '../procedures/context.ts'
import { isoTime, type Clock } from '../kernel/clock.ts'
import { ErrandError } from '../kernel/errors.ts'
import { readProgress, taskNotFound, toTask, type ReadTaskParts } from './read-task.ts'
import { waitersMax, type TaskWait } from './task-ends.ts'
import type { TaskEvent, TaskProgress } from './task-schema.ts'

type StreamParts = ReadTaskParts & { clock: Clock }
type Following = { userId: string; taskId: string; reader: StreamReader }

const fullRetrySeconds = 30

/**
 * Event stream of one task for one follower. Yields the current state, then each change, and finally the end of the
 * task exactly once. Merges several changes between two reads into one event. If the client disconnects or the service
 * stops, the stream ends without the final event.
 */
export class TaskStream implements AsyncIterable<TaskEvent> {
  readonly #parts: StreamParts
  readonly #following: Following
  readonly #wait: TaskWait
  #record: TaskRecord
  #told: Pick<TaskRecord, 'status' | 'attempt' | 'progress'> | undefined
  #hasEnded = false

  /** Throws 404 if the task belongs to another user, and 429 if the user already has the maximum number of waiters. */
  static async open(parts: StreamParts, following: Following): Promise<TaskStream> {
    const { reader, taskId, userId } = following
    const found = await parts.store.getTask({ userId, taskId })
    if (!found) throw taskNotFound()
    const wait = parts.ends.wait({ taskId, userId }, { signal: reader.left, isFollowing: true })
    try {
      // The task may have changed between the first read and the start of the wait.
      const record = found.completedAt === null ? await parts.store.getTask({ userId, taskId }) : found
      if (!record) throw taskNotFound()
      if (record.completedAt === null && wait.isRefused) throw tooManyWait()
      return new TaskStream(parts, { following, wait, record })
    } catch (error) {
      wait.cancel()
      throw error
    }
  }

  private constructor(parts: StreamParts, of: { following: Following; wait: TaskWait; record: TaskRecord }) {
    this.#parts = parts
    this.#following = of.following
    this.#wait = of.wait
    this.#record = of.record
    of.following.reader.left.addEventListener('abort', () => this.end(), { once: true })
  }

  async next(): Promise<TaskEvent[] | undefined> {
    try {
      for (;;) {
        const events = this.#hasEnded ? undefined : this.#untold()
        if (!events || events.length > 0) return events
        const change = await this.#wait.change()
        if (this.#wait.isOver || !(await this.#look(change))) {
          this.end()
          return undefined
        }
      }
    } catch (error) {
      this.end()
      throw error
    }
  }

  end(): void {
    this.#hasEnded = true
    this.#wait.cancel()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<TaskEvent, void, void> {
    const { cutOff, stallMs } = this.#following.reader
    try {
      for (let events = await this.next(); events; events = await this.next()) {
        // `yield` returns once the reader has taken the event. Disconnect a reader that stalls for `stallMs`.
        const timer = setTimeout(cutOff, stallMs)
        try {
          for (const event of events) {
            yield event
            timer.refresh()
          }
        } finally {
          clearTimeout(timer)
        }
      }
    } finally {
      this.end()
    }
  }

  /**
   * Reads the task again after a change. Progress of a run in this process needs no database read. Returns false if the
   * task no longer exists.
   */
  async #look(change: 'state' | 'progress'): Promise<boolean> {
    const { live, store } = this.#parts
    const { taskId, userId } = this.#following
    const { attempt, id, status } = this.#record
    if (change === 'progress' && status === 'processing' && live.of(id)?.attempt === attempt) return true
    const record = await store.getTask({ userId, taskId })
    if (record) this.#record = record
    return record !== undefined
  }

  #untold(): TaskEvent[] {
    const { clock, live, links } = this.#parts
    const record = this.#record
    const { attempt, status } = record
    const timestamp = isoTime(clock.now())
    const progress = readProgress(record, live)
    const told = this.#told
    this.#told = { status, attempt, progress }
    const events: TaskEvent[] = []
    const isOther = told?.status !== status || told.attempt !== attempt
    if (progress !== null && told?.attempt === attempt && told.progress !== progress) {
      events.push(this.#progressEvent(progress, timestamp))
    }
    if (isOther) {
      const shown = progress === null ? {} : { progress: JSON.parse(progress) as TaskProgress }
      events.push({ type: 'state', timestamp, status, attempt, ...shown })
    }
    if (record.completedAt !== null) {
      events.push({ type: 'end', timestamp, task: toTask(record, { links, live }) })
      this.end()
    }
    return events
  }

  #progressEvent(json: string, timestamp: string): TaskEvent {
    const { attempt, id } = this.#record
    const run = this.#parts.live.of(id)
    if (run?.attempt === attempt && run.progress === json && run.event) return run.event
    return { type: 'progress', timestamp, attempt, progress: JSON.parse(json) as TaskProgress }
  }
}

export function tooManyWait(): ErrandError {
  const message = `This account already has ${waitersMax} requests waiting for tasks, the maximum. Retry when one of them has ended.`
  return new ErrandError('RATE_LIMIT_EXCEEDED', message, { isOtherRate: true, retryAfterSeconds: fullRetrySeconds })
}
