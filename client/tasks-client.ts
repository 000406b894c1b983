import { repeatWhileTransient } from './backoff.ts'
import type { CallPromise } from './calls/call-promise.ts'
import { methodsOf, type KeyedOptions, type ListMethod, type Method } from './calls/methods.ts'
import type { Call, CallOptions } from './calls/rpc-call.ts'
import { ErrandClientError } from './client-error.ts'
import { checkTimeout, type Connection } from './connection.ts'
import { pause, withDeadline } from './deadline.ts'
import { followTask, type FollowOptions, type TaskEvents } from './streams/follow-task.ts'
import { fetchFullResponse } from './full-response.ts'
import { newIdempotencyKey } from './idempotency-key.ts'
import type { EndedTask, Input, Output, Task } from './types/client-types.ts'
import type {
  AnyConfig,
  EndpointId,
  EndpointParams,
  EndpointResponse,
  KnownEndpointId,
  UnknownConfig,
} from './types/endpoint-types.ts'
import { waitForTask } from './wait-for-task.ts'

export type CreateOptions = KeyedOptions

export type WaitOptions = {
  /** Aborting ends the wait immediately and rejects with the signal's reason. The task continues. */
  signal?: AbortSignal | undefined
  /**
   * Maximum wait in milliseconds. After that, the call rejects with TIMEOUT, and the task continues. Defaults to
   * 600,000. Can be `Infinity`.
   */
  timeoutMs?: number | undefined
  /**
   * Fetches responses larger than 16 KB in full. Otherwise, the task contains only the start of such a response, as a
   * string.
   */
  fullResponse?: boolean | undefined
}

export type RunOptions = WaitOptions & Pick<CreateOptions, 'idempotencyKey'>

export type CreateTaskInput<Id, Config extends AnyConfig = UnknownConfig> = Omit<
  Input<'tasks.create'>,
  'endpointId' | 'params'
> & {
  endpointId: Id
  params: EndpointParams<Id, Config>
}

export type CreateQuoteInput<Id, Config extends AnyConfig = UnknownConfig> = Omit<Input<'quotes.create'>, 'task'> & {
  task?: Pick<Input<'tasks.create'>, 'maxCostUsd'> & { endpointId: Id; params: EndpointParams<Id, Config> }
}

export type EndedTaskOf<Id, Config extends AnyConfig = UnknownConfig> =
  Id extends KnownEndpointId<Config>
    ? Omit<EndedTask, 'endpointId' | 'response'> & {
        endpointId: Id
        response: EndpointResponse<Id, Config> | string | null
      }
    : EndedTask

export type TasksClient<Config extends AnyConfig = UnknownConfig> = {
  /**
   * Charges the endpoint's price and queues one task.
   *
   * @example
   * const { taskId } = await client.tasks.create({ endpointId: 'text.summarize', params: { text } })
   */
  create: <Id extends EndpointId<Config>>(
    input: CreateTaskInput<Id, Config>,
    options?: CreateOptions,
  ) => CallPromise<Output<'tasks.create'>>
  /**
   * Reads a task. With `wait`, the service delays the response until the task has ended or that many seconds have
   * passed.
   */
  get: Method<'tasks.get'>
  /** Lists the caller's tasks, newest first. */
  list: ListMethod<'tasks.list'>
  /**
   * Cancels a task. The task fails with CANCELED and is refunded, and its agent is stopped. Does not change an ended
   * task. Rejects with CONFLICT if the run has called a connector or charged for an event, or if it has started and the
   * endpoint allows canceling a task only before it starts.
   *
   * @example
   * const { status, error } = await client.tasks.cancel({ taskId })
   */
  cancel: Method<'tasks.cancel'>
  /**
   * Resolves with the task once it has completed or failed. Retries after broken connections, 429 and 503.
   *
   * In a browser without HTTP/2, each pending wait occupies one of the six connections that a page has per server.
   *
   * @example
   * const task = await client.tasks.wait(taskId, { timeoutMs: 60_000 })
   * if (task.status === 'failed') console.error(task.error?.message)
   */
  wait: (taskId: string, options?: WaitOptions) => Promise<EndedTask>
  /**
   * Streams the events of a task: its current state, every change of state and progress, and finally its end.
   * Reconnects after broken connections, 429 and 503. Each new connection starts with the current state.
   *
   * @example
   * for await (const event of client.tasks.events(taskId)) {
   *   if (event.type === 'progress') show(event.progress.fraction, event.progress.message)
   *   if (event.type === 'end') console.log(event.task.response)
   * }
   */
  events: (taskId: string, options?: FollowOptions) => TaskEvents
  /**
   * Creates a task and waits for it to end. All attempts to create the task share one Idempotency-Key, so it is charged
   * once. Pass your own key to resume waiting for the same task after a restart.
   *
   * @example
   * const task = await client.tasks.run({ endpointId: 'text.summarize', params: { text } })
   * console.log(task.response)
   */
  run: <Id extends EndpointId<Config>>(
    input: CreateTaskInput<Id, Config>,
    options?: RunOptions,
  ) => Promise<EndedTaskOf<Id, Config>>
  /** Returns the full response of a task, even if it is larger than 16 KB, or null if there is none yet. */
  fetchResponse: (
    task: Pick<Task, 'response' | 'responseUri'>,
    options?: { signal?: AbortSignal | undefined },
  ) => Promise<Record<string, unknown> | null>
}

const defaultTimeoutMs = 600_000
/**
 * Maximum number of attempts by `run` to create its task. The pauses in between total about three seconds if
 * connections are refused, but can total minutes with a Retry-After.
 */
const createFailuresMax = 5

export function createTasksClient(call: Call, connection: Connection): TasksClient {
  const tasks = methodsOf(call, 'tasks', { create: 'keyedChange', list: 'list', cancel: 'repeatableChange' })
  const get = (input: Input<'tasks.get'>, options?: CallOptions) => {
    const waitSeconds = input.wait ?? 0
    return call('tasks.get', { isQuery: true, input, waitSeconds, isAlone: waitSeconds > 0 }, options)
  }

  async function waitFor(taskId: string, signal: AbortSignal, { fullResponse, watch }: Watched): Promise<EndedTask> {
    const getTask = (wait: number) => get({ taskId, wait }, { signal, maxRetries: 0 })
    const parts = { getTask, now: () => performance.now(), ...watching('tasks.get', signal, watch) }
    const task = await waitForTask(parts, taskId)
    if (!fullResponse || task.responseUri === undefined) return task
    return { ...task, response: await fetchFullResponse(connection, task, { signal }) }
  }

  function watching(operation: string, signal: AbortSignal, watch: Watch) {
    return {
      pause: (ms: number) => pause(ms, signal),
      onFailure: (error: ErrandClientError, delayMs: number, retry: number) => {
        watch.lastFailure = error
        connection.onRetry({ operation, error, delayMs, retry })
      },
    }
  }

  return {
    ...tasks,
    get,

    events: (taskId, options) => followTask(connection, taskId, options),

    wait: (taskId, options) =>
      untilEnded(options, (signal, watched) => {
        watched.watch.taskId = taskId
        return waitFor(taskId, signal, watched)
      }),

    run: (input, options = {}) =>
      untilEnded(options, async (signal, watched) => {
        const { watch } = watched
        const idempotencyKey = options.idempotencyKey ?? newIdempotencyKey()
        watch.idempotencyKey = idempotencyKey
        const repetition = { failuresMax: createFailuresMax, ...watching('tasks.create', signal, watch) }
        const { taskId } = await repeatWhileTransient(repetition, () =>
          tasks.create(input, { idempotencyKey, signal, maxRetries: 0 }),
        )
        watch.taskId = taskId
        return await waitFor(taskId, signal, watched)
      }) as never,

    fetchResponse: (task, options) => fetchFullResponse(connection, task, options),
  }
}

type Watch = { idempotencyKey?: string; taskId?: string; lastFailure?: ErrandClientError }
type Watched = { watch: Watch; fullResponse: boolean | undefined }

async function untilEnded(
  { signal, timeoutMs = defaultTimeoutMs, fullResponse }: WaitOptions = {},
  work: (signal: AbortSignal, watched: Watched) => Promise<EndedTask>,
): Promise<EndedTask> {
  checkTimeout('timeoutMs', timeoutMs)
  const watch: Watch = {}
  const createTimeoutError = () => timeoutError(timeoutMs, watch)
  return await withDeadline({ signal, timeoutMs, createTimeoutError }, (own) => work(own, { watch, fullResponse }))
}

function timeoutError(timeoutMs: number, { idempotencyKey, taskId, lastFailure }: Watch): ErrandClientError {
  const what =
    taskId === undefined
      ? `The service did not confirm the task within ${timeoutMs} ms. Run it again with the idempotencyKey ${idempotencyKey}.`
      : `The task ${taskId} did not end within ${timeoutMs} ms, but it continues. Wait for it again.`
  const why = lastFailure ? ` The last failure was: ${lastFailure.message}` : ''
  return new ErrandClientError('TIMEOUT', what + why, { taskId, cause: lastFailure })
}
