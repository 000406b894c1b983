import { repeatWhileTransient } from './backoff.ts'
import { ErrandClientError } from './client-error.ts'
import type { EndedTask, Inputs, Outputs } from './client-types.ts'
import { checkTimeout } from './connection.ts'
import { pause, withDeadline } from './deadline.ts'
import { checkIdempotencyKey, newIdempotencyKey } from './idempotency-key.ts'
import type { Call, CallOptions } from './rpc-call.ts'
import { waitForTask } from './wait-for-task.ts'

export type CreateOptions = CallOptions & {
  /** Repeating a create with the same key and the same input within 24 hours answers the same task, charged once. */
  idempotencyKey?: string | undefined
}

export type WaitOptions = CallOptions & {
  /** Give up after that long with TIMEOUT, while the task goes on; 600,000 when left out, and it may be `Infinity`. */
  timeoutMs?: number | undefined
}

type TasksInputs = Inputs['tasks']
type TasksOutputs = Outputs['tasks']

export type TasksClient = {
  /**
   * Charges the price of the endpoint and queues one execution.
   *
   * @example
   * const { taskId } = await client.tasks.create({ endpointId: 'text.summarize', params: { text } })
   */
  create: (input: TasksInputs['create'], options?: CreateOptions) => Promise<TasksOutputs['create']>
  /** Reads a task; with `wait` the answer is held until it has ended or that many seconds have passed. */
  get: (input: TasksInputs['get'], options?: CallOptions) => Promise<TasksOutputs['get']>
  /** One page of the caller's tasks, newest first. */
  list: (input?: TasksInputs['list'], options?: CallOptions) => Promise<TasksOutputs['list']>
  /**
   * Resolves with the task once it has completed or failed. Broken connections, 429 and 503 are sat out.
   *
   * In a browser without HTTP/2, each wait under way holds one of the six connections that a page has to a server.
   *
   * @example
   * const task = await client.tasks.wait(taskId, { timeoutMs: 60_000 })
   * if (task.status === 'failed') console.error(task.error?.message)
   */
  wait: (taskId: string, options?: WaitOptions) => Promise<EndedTask>
  /**
   * Creates a task and waits for its end. Every attempt carries one Idempotency-Key, so a create whose connection
   * broke is repeated and charged once. Pass a key of your own to go on with the same task after a restart.
   *
   * @example
   * const task = await client.tasks.run({ endpointId: 'text.summarize', params: { text } })
   * console.log(task.response)
   */
  run: (input: TasksInputs['create'], options?: CreateOptions & WaitOptions) => Promise<EndedTask>
}

const defaultTimeoutMs = 600_000
/** With their pauses about three seconds when nothing listens; a Retry-After may make it minutes. */
const createFailuresMax = 5

export function createTasksClient(call: Call): TasksClient {
  const tasks: TasksClient = {
    create: async (input, { idempotencyKey, signal } = {}) => {
      if (idempotencyKey !== undefined) checkIdempotencyKey(idempotencyKey)
      return await call({ signal, idempotencyKey }, (rpc, options) => rpc.tasks.create.mutate(input, options))
    },

    get: (input, options) => {
      const waitSeconds = input.wait ?? 0
      return call({ ...options, waitSeconds, isAlone: waitSeconds > 0 }, (rpc, own) => rpc.tasks.get.query(input, own))
    },

    list: (input = {}, options) => call({ ...options }, (rpc, own) => rpc.tasks.list.query(input, own)),

    wait: (taskId, options) =>
      untilEnded(options, (signal, watch) => {
        watch.taskId = taskId
        return waitFor(taskId, signal, watch)
      }),

    run: (input, options = {}) =>
      untilEnded(options, async (signal, watch) => {
        const idempotencyKey = options.idempotencyKey ?? newIdempotencyKey()
        watch.idempotencyKey = idempotencyKey
        const repetition = { failuresMax: createFailuresMax, ...watching(signal, watch) }
        const { taskId } = await repeatWhileTransient(repetition, () => tasks.create(input, { idempotencyKey, signal }))
        watch.taskId = taskId
        return await waitFor(taskId, signal, watch)
      }),
  }

  function waitFor(taskId: string, signal: AbortSignal, watch: Watch): Promise<EndedTask> {
    const getTask = (wait: number) => tasks.get({ taskId, wait }, { signal })
    return waitForTask({ getTask, now: () => performance.now(), ...watching(signal, watch) }, taskId)
  }

  return tasks
}

/** What a TIMEOUT has to tell. */
type Watch = { idempotencyKey?: string; taskId?: string; lastFailure?: ErrandClientError }

function watching(signal: AbortSignal, watch: Watch) {
  return {
    pause: (ms: number) => pause(ms, signal),
    onFailure: (error: ErrandClientError) => void (watch.lastFailure = error),
  }
}

async function untilEnded(
  { signal, timeoutMs = defaultTimeoutMs }: WaitOptions = {},
  work: (signal: AbortSignal, watch: Watch) => Promise<EndedTask>,
): Promise<EndedTask> {
  checkTimeout('timeoutMs', timeoutMs)
  const watch: Watch = {}
  const createTimeoutError = () => timeoutError(timeoutMs, watch)
  return await withDeadline({ signal, timeoutMs, createTimeoutError }, (own) => work(own, watch))
}

function timeoutError(timeoutMs: number, { idempotencyKey, taskId, lastFailure }: Watch): ErrandClientError {
  const what =
    taskId === undefined
      ? `After ${timeoutMs} ms it is not known whether the task was created; run it again with the idempotencyKey ${idempotencyKey}.`
      : `The task ${taskId} had not ended after ${timeoutMs} ms; it goes on, and can be waited for again.`
  const why = lastFailure ? ` The last failure was: ${lastFailure.message}` : ''
  return new ErrandClientError('TIMEOUT', what + why, { taskId, cause: lastFailure })
}
