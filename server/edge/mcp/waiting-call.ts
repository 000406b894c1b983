import type { TaskEvent, TaskProgress } from '../../tasks/task-schema.ts'
import type { TaskAccess } from './task-access.ts'
import type { TaskStream } from '../../tasks/task-stream.ts'
import type { CallEnd, OpenCall } from './open-calls.ts'
import { failure, resultOf, type ToolResult } from './tool-result.ts'

type WaitingParts = {
  tasks: TaskAccess['tasks']
  stream: TaskStream
  taskId: string
  left: AbortSignal
  /** Undefined if the task continues after the client disconnects. */
  call?: OpenCall
  endWhenLeft?: CallEnd
  meta?: Record<string, unknown>
}

/** The agent's progress, or the result, which is undefined if the client disconnected or canceled the call. */
export type CallStep = { progress: TaskProgress } | { result: ToolResult | undefined }

export class WaitingCall {
  readonly #parts: WaitingParts
  #events: TaskEvent[] = []
  #how: CallEnd = 'left'
  #hasEnded = false

  constructor(parts: WaitingParts) {
    this.#parts = parts
  }

  async next(): Promise<CallStep> {
    const { meta, stream, taskId, tasks } = this.#parts
    for (;;) {
      const event = this.#events.shift()
      if (!event) {
        const events = await stream.next()
        if (!events) break
        this.#events = events
        continue
      }
      if (event.type === 'end') {
        const result = await resultOf(tasks, event.task)
        if (!this.#isGone) this.#how = 'answered'
        return { result: { ...result, _meta: { ...result._meta, ...meta } } }
      }
      // The state event of an ended task repeats the last progress.
      if (event.progress && (event.type === 'progress' || event.status === 'processing')) {
        return { progress: event.progress }
      }
    }
    if (this.#isGone) return { result: undefined }
    this.#how = 'goes on'
    const text = `The service is restarting. The task ${taskId} continues; GET /api/tasks/${taskId} returns its result.`
    return { result: failure(text, { taskId }) }
  }

  /** Call this when the result has been sent or the client has disconnected. Idempotent. */
  end(): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    const { call, endWhenLeft = 'left', stream } = this.#parts
    stream.end()
    const isCanceled = call?.canceled.aborted === true
    call?.end(isCanceled ? 'canceled' : this.#how === 'left' ? endWhenLeft : this.#how)
  }

  get #isGone(): boolean {
    const { call, left } = this.#parts
    return left.aborted || call?.canceled.aborted === true
  }
}
