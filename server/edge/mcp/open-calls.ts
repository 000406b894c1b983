import { setTimeout as pause } from 'node:timers/promises'

/** A task that calls wait for, or waited for until their clients disconnected. */
export type CalledTask = {
  readonly taskId: string
  /** Equal for calls with the same caller, tool and arguments. */
  readonly what: string
  /** Cancels the task if possible. */
  readonly cancel: () => Promise<'canceled' | 'ended' | 'at work'>
  /**
   * Records for other nodes that no call waits for the task. Resolves with a function that withdraws the record. That
   * function resolves to false if another node has answered a call with the task since.
   */
  readonly noteLeft: () => Promise<() => Promise<boolean>>
  /** Undefined until the task's clients have disconnected. */
  left: Promise<() => Promise<boolean>> | undefined
  waiting: number
  /** True while no call waits and another call can take over the task. */
  isLeft: boolean
  hasEnded: boolean
  timer: NodeJS.Timeout | undefined
}

/**
 * Why a call stopped waiting: it was answered, its client disconnected, its client canceled it, or the task continues
 * without it.
 */
export type CallEnd = 'answered' | 'left' | 'canceled' | 'goes on'

export type OpenCall = {
  readonly canceled: AbortSignal
  end(how: CallEnd): void
}

export type CalledAs = {
  /** Equal for calls with the same caller, tool and arguments. */
  what: string
  /** Identifies the client and its request id, as in cancel notifications. */
  request: string
  /** Whether this client can be distinguished from all others, so that its request ids are unique. */
  isOneClient: boolean
}

type Waiter = { task: CalledTask; controller: AbortController }

/** A closed connection may be noticed up to about this long after the client's next request. */
const noticeMs = 100

/**
 * Calls in this process that wait for their tasks. A client that gives up and calls again gets the task of its first
 * call and pays once. A task whose clients have all disconnected is kept for the next call with the same caller, tool
 * and arguments. If none comes, the task is canceled. Two identical calls whose clients both wait are two tasks.
 *
 *   waits ──client leaves──▶ left ──same call again──▶ waits
 *     │                       │ └──no call comes, or it was canceled──▶ canceled and refunded, if possible
 *     └──answered──▶ gone ◀───┴──it has ended, and no call came for its result
 */
export class OpenCalls {
  readonly keepMs: number
  readonly #byTask = new Map<string, CalledTask>()
  readonly #byWhat = new Map<string, Set<CalledTask>>()
  /**
   * Calls by request. Each key has a set, because request ids restart in each client, and clients need not identify
   * themselves.
   */
  readonly #byRequest = new Map<string, Set<Waiter>>()
  /** Tasks being created, for requests of clients that can be distinguished from all others. */
  readonly #created = new Map<string, Promise<string>>()

  /** After its client disconnects, a task waits `keepMs` for another call. */
  constructor({ keepMs }: { keepMs: number }) {
    this.keepMs = keepMs
  }

  /**
   * Waits until a disconnect of an identical call's client would have been noticed. Returns immediately if one was
   * noticed already, or if there is no identical call.
   */
  async noticed(what: string): Promise<void> {
    const alike = [...(this.#byWhat.get(what) ?? [])]
    if (alike.length > 0 && !alike.some(({ isLeft }) => isLeft)) await pause(noticeMs)
  }

  /** Returns the task that a call gets instead of a new one. Call `open` in the same tick. */
  earlierTask({ isOneClient, request, what }: CalledAs): string | undefined {
    const waiters = isOneClient ? [...(this.#byRequest.get(request) ?? [])] : []
    const repeated = waiters.find(({ task }) => task.what === what)?.task
    const left = [...(this.#byWhat.get(what) ?? [])].find(({ isLeft }) => isLeft)
    return (repeated ?? left)?.taskId
  }

  /**
   * Creates a task. If the same request was sent before and its call is not open yet, returns the task of that call.
   * Call `open` as soon as this resolves.
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

  /** Cancels one request of a client. If several requests match, none is canceled. */
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
    // If the store is unreachable, acts as if no other node could answer a call with the task.
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

  /** Resolves to false if another node has answered a call with the task. */
  async #takeBack({ left }: CalledTask): Promise<boolean> {
    const takeBack = await left
    return takeBack === undefined || (await takeBack().catch(() => true))
  }

  async #cancel(task: CalledTask): Promise<void> {
    const outcome = await task.cancel()
    // Another call may have taken over the task while it was being canceled.
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
