import { setTimeout as pause } from 'node:timers/promises'

/** A task, together with the state of the calls that are or were waiting for its result. */
export type CalledTask = {
  readonly taskId: string
  /** Identifies the caller, tool and arguments. */
  readonly what: string
  readonly cancel: () => Promise<'canceled' | 'ended' | 'at work'>
  /**
   * Writes a record that tells other nodes that no call is waiting for the task. Resolves with a function that deletes
   * the record and returns false if another node has used the task to answer a call.
   */
  readonly noteLeft: () => Promise<() => Promise<boolean>>
  /** Undefined until all of the task's clients have disconnected. */
  left: Promise<() => Promise<boolean>> | undefined
  waiting: number
  /** Whether no call is waiting, so that another call can take over the task. */
  isLeft: boolean
  hasEnded: boolean
  timer: NodeJS.Timeout | undefined
}

/**
 * Why a call stopped waiting: it was answered, its client disconnected or canceled it, or the task continues without
 * it.
 */
export type CallEnd = 'answered' | 'left' | 'canceled' | 'goes on'

export type OpenCall = {
  readonly canceled: AbortSignal
  end(how: CallEnd): void
}

export type CalledAs = {
  what: string
  /** Client and request id, by which a cancel notification identifies the call. */
  request: string
  /** Whether this client is distinguishable from all others, so that its request ids are unique. */
  isOneClient: boolean
}

type Waiter = { task: CalledTask; controller: AbortController }

/** How long the service may take to notice a closed connection after its client has called again. */
const noticeMs = 100

/**
 * Calls in this process that are waiting for their tasks. A client that gives up and calls again gets the task of its
 * first call and pays only once. A task whose clients have all disconnected is kept for the next call with the same
 * caller, tool and arguments. If there is none, the task is canceled. Two identical calls whose clients are both
 * waiting get two tasks.
 *
 *   waits ──client leaves──▶ left ──same call again──▶ waits
 *     │                       │ └──no call comes, or it was canceled──▶ canceled and refunded, if possible
 *     └──answered──▶ gone ◀───┴──it has ended, and no call came for its result
 */
export class OpenCalls {
  readonly keepMs: number
  readonly #byTask = new Map<string, CalledTask>()
  readonly #byWhat = new Map<string, Set<CalledTask>>()
  /** The values are sets, because request ids restart in each client, and clients need not identify themselves. */
  readonly #byRequest = new Map<string, Set<Waiter>>()
  /** Tasks being created for requests from clients that can be told apart. */
  readonly #created = new Map<string, Promise<string>>()

  constructor({ keepMs }: { keepMs: number }) {
    this.keepMs = keepMs
  }

  /**
   * Waits long enough to notice that an identical call's client has disconnected. Returns immediately if such a client
   * has already disconnected, or if there is no identical call.
   */
  async noticed(what: string): Promise<void> {
    const alike = [...(this.#byWhat.get(what) ?? [])]
    if (alike.length > 0 && !alike.some(({ isLeft }) => isLeft)) await pause(noticeMs)
  }

  /** Returns an existing task that the call can use instead of a new one. Call `open` in the same tick. */
  earlierTask({ isOneClient, request, what }: CalledAs): string | undefined {
    const waiters = isOneClient ? [...(this.#byRequest.get(request) ?? [])] : []
    const repeated = waiters.find(({ task }) => task.what === what)?.task
    const left = [...(this.#byWhat.get(what) ?? [])].find(({ isLeft }) => isLeft)
    return (repeated ?? left)?.taskId
  }

  /**
   * Creates a task, or returns the one that an earlier copy of the request is creating. Call `open` as soon as this
   * resolves.
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

  /** Cancels a client's request. Does nothing if several requests match. */
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
    // If the store is unreachable, assume that no other node uses the task to answer a call.
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

  /** Resolves to false if another node has used the task to answer a call. */
  async #takeBack({ left }: CalledTask): Promise<boolean> {
    const takeBack = await left
    return takeBack === undefined || (await takeBack().catch(() => true))
  }

  async #cancel(task: CalledTask): Promise<void> {
    const outcome = await task.cancel()
    // Another call may have taken over the task in the meantime.
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
