import { setTimeout as pause } from 'node:timers/promises'

/** A task that calls wait for, or waited for until their clients left. */
export type CalledTask = {
  readonly taskId: string
  /** The same for calls of one caller, tool and arguments. */
  readonly what: string
  /** Ends the task where that can be done. */
  readonly cancel: () => Promise<'canceled' | 'ended' | 'at work'>
  /** For other nodes: nobody waits for it. Resolves with what takes that back: false if another node answers a call with it. */
  readonly noteLeft: () => Promise<() => Promise<boolean>>
  /** Undefined before its clients left. */
  left: Promise<() => Promise<boolean>> | undefined
  /** How many calls wait for it. */
  waiting: number
  /** While nobody waits, and another call may take it. */
  isLeft: boolean
  hasEnded: boolean
  timer: NodeJS.Timeout | undefined
}

/** Why a call waits no more: it has its answer; its client is gone, or wants it no more; the task goes on by itself. */
export type CallEnd = 'answered' | 'left' | 'canceled' | 'goes on'

/** One call that waits. */
export type OpenCall = {
  /** Fires when its client says that it wants it no more. */
  readonly canceled: AbortSignal
  end(how: CallEnd): void
}

/** Which call it is. */
export type CalledAs = {
  /** The same for calls of one caller, tool and arguments. */
  what: string
  /** The client and the id of its request, as notifications name them. */
  request: string
  /** Whether that client is told from all others, and so has an id only once. */
  isOneClient: boolean
}

type Waiter = { task: CalledTask; controller: AbortController }

/** That a connection is closed may be told after the request of the next one, by about so much. */
const noticeMs = 100

/**
 * The calls of this process that wait for their tasks. A client that gives up and calls again gets the task of its first
 * call, and pays once: a task whose clients have all left is kept for the next call of the same caller, tool and
 * arguments, and is canceled when none comes. Two calls whose clients both wait are two tasks, however alike they are.
 *
 *   waits ──client leaves──▶ left ──the same is called──▶ waits
 *     │                       │ └──nobody comes, or it was canceled──▶ canceled and refunded, where that is possible
 *     └──answered──▶ gone ◀───┴──it has ended, and nobody came for its result
 */
export class OpenCalls {
  readonly keepMs: number
  readonly #byTask = new Map<string, CalledTask>()
  readonly #byWhat = new Map<string, Set<CalledTask>>()
  /** An id counts from anew in each client, and clients need not say which one they are. */
  readonly #byRequest = new Map<string, Set<Waiter>>()
  /** Tasks that are being created, for requests of clients that are told from all others. */
  readonly #created = new Map<string, Promise<string>>()

  /** For so long a task whose client has left waits for another call. */
  constructor({ keepMs }: { keepMs: number }) {
    this.keepMs = keepMs
  }

  /** Resolves when it is known of calls for the same whether their clients have left. */
  async noticed(what: string): Promise<void> {
    const alike = [...(this.#byWhat.get(what) ?? [])]
    if (alike.length > 0 && !alike.some(({ isLeft }) => isLeft)) await pause(noticeMs)
  }

  /** The task that a call gets instead of one of its own. Whoever asks opens the call in the same tick. */
  earlierTask({ isOneClient, request, what }: CalledAs): string | undefined {
    const waiters = isOneClient ? [...(this.#byRequest.get(request) ?? [])] : []
    const repeated = waiters.find(({ task }) => task.what === what)?.task
    const left = [...(this.#byWhat.get(what) ?? [])].find(({ isLeft }) => isLeft)
    return (repeated ?? left)?.taskId
  }

  /**
   * A task of its own; that of the same request, where it is sent again before the first call of that is open. Whoever asks
   * opens the call when it resolves.
   */
  async taskOf({ isOneClient, request, what }: CalledAs, create: () => Promise<string>): Promise<string> {
    if (!isOneClient) return await create()
    const name = `${request} ${what}`
    const creating = this.#created.get(name) ?? create()
    this.#created.set(name, creating)
    try {
      return await creating
    } catch (error) {
      this.#created.delete(name)
      throw error
    }
  }

  open({ request, taskId, what, ...of }: CalledAs & Pick<CalledTask, 'cancel' | 'noteLeft' | 'taskId'>): OpenCall {
    this.#created.delete(`${request} ${what}`)
    const task = this.#byTask.get(taskId) ?? this.#add({ cancel: of.cancel, noteLeft: of.noteLeft, taskId, what })
    clearTimeout(task.timer)
    if (task.isLeft) void this.#takeBack(task)
    task.isLeft = false
    task.waiting++
    const waiter = { task, controller: new AbortController() }
    addTo(this.#byRequest, request, waiter)
    return {
      canceled: waiter.controller.signal,
      end: (how) => {
        removeFrom(this.#byRequest, request, waiter)
        task.waiting--
        if (task.waiting > 0) return
        if (how === 'canceled') void this.#cancel(task)
        else if (how === 'left') this.#keep(task)
        else this.#forget(task)
      },
    }
  }

  /** A client wants the answer to one of its requests no more. Of several that may be meant none is. */
  cancelRequest(request: string): void {
    const [waiter, ...others] = this.#byRequest.get(request) ?? []
    if (others.length === 0) waiter?.controller.abort()
  }

  #add(called: Pick<CalledTask, 'cancel' | 'noteLeft' | 'taskId' | 'what'>): CalledTask {
    const task = { ...called, left: undefined, waiting: 0, isLeft: false, hasEnded: false, timer: undefined }
    this.#byTask.set(task.taskId, task)
    addTo(this.#byWhat, task.what, task)
    return task
  }

  #keep(task: CalledTask): void {
    task.isLeft = true
    // If the store cannot be reached, this node goes on as if it were alone.
    task.left = task.noteLeft().catch(() => () => Promise.resolve(true))
    task.timer = setTimeout(() => {
      task.isLeft = false
      if (task.hasEnded) this.#forget(task)
      else void this.#giveUp(task)
    }, this.keepMs)
    task.timer.unref()
  }

  async #giveUp(task: CalledTask): Promise<void> {
    const isStillLeft = await this.#takeBack(task)
    if (task.waiting > 0) return
    if (isStillLeft) await this.#cancel(task)
    else this.#forget(task)
  }

  /** False if another node has answered a call with it. */
  async #takeBack({ left }: CalledTask): Promise<boolean> {
    const takeBack = await left
    return takeBack === undefined || (await takeBack().catch(() => true))
  }

  async #cancel(task: CalledTask): Promise<void> {
    const outcome = await task.cancel()
    // Meanwhile there may be another call for it.
    if (task.waiting > 0) return
    task.hasEnded = outcome === 'ended'
    if (outcome === 'canceled') this.#forget(task)
    else this.#keep(task)
  }

  #forget(task: CalledTask): void {
    this.#byTask.delete(task.taskId)
    removeFrom(this.#byWhat, task.what, task)
  }
}

function addTo<Value>(map: Map<string, Set<Value>>, key: string, value: Value): void {
  map.set(key, (map.get(key) ?? new Set()).add(value))
}

function removeFrom<Value>(map: Map<string, Set<Value>>, key: string, value: Value): void {
  const values = map.get(key)
  values?.delete(value)
  if (values?.size === 0) map.delete(key)
}
