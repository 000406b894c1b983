import { useCallback, useEffect, useState } from 'react'
import type {
  AnyConfig,
  CreateOptions,
  CreateTaskInput,
  EndedTask,
  EndedTaskOf,
  EndpointId,
  TaskProgress,
  UnknownConfig,
} from '../client.ts'
import { announceCharge, useErrandContext } from './errand-provider.tsx'

type TaskInput<Config extends AnyConfig, Id> = Id extends unknown ? CreateTaskInput<Id, Config> : never

export type TaskState<Config extends AnyConfig = UnknownConfig, Id extends EndpointId<Config> = EndpointId<Config>> = {
  isRunning: boolean
  taskId: string | undefined
  progress: TaskProgress | undefined
  /** The task once it has ended. A failed task has an `error` and is refunded. */
  task: EndedTaskOf<Id, Config> | undefined
  /** Set if the service rejected the task or could not be reached. */
  error: Error | undefined
  /**
   * Creates a task and follows it until it ends. If called again, follows only the latest task. The others continue and
   * are charged too.
   */
  run: (input: TaskInput<Config, Id>, options?: CreateOptions) => void
  /** Cancels the task, which refunds it. */
  cancel: () => void
}

type Run = { input: CreateTaskInput<string>; options: CreateOptions | undefined }
type Followed = Pick<TaskState, 'isRunning' | 'taskId' | 'progress' | 'task' | 'error'>

const idle = { isRunning: false, taskId: undefined, progress: undefined, task: undefined, error: undefined }

/**
 * Runs a task and reports its progress. The task continues if the component unmounts. `useTask<typeof config>()` types
 * the params and the response.
 */
export function useTask<
  Config extends AnyConfig = UnknownConfig,
  Id extends EndpointId<Config> = EndpointId<Config>,
>(): TaskState<Config, Id> {
  const errand = useErrandContext()
  const [state, setState] = useState<Followed>(idle)
  const [leaving] = useState(() => ({ controller: new AbortController() }))
  useEffect(() => () => leaving.controller.abort(), [leaving])

  const run = useCallback(
    (input: CreateTaskInput<string>, options?: CreateOptions) => {
      leaving.controller.abort()
      leaving.controller = new AbortController()
      const { signal } = leaving.controller
      const show = (change: Partial<Followed>) => {
        if (!signal.aborted) setState((last) => ({ ...last, ...change }))
      }
      setState({ ...idle, isRunning: true })
      follow({ input, options }, signal, show)
        .catch((error: Error) => show({ error }))
        .finally(() => {
          show({ isRunning: false })
          announceCharge(errand)
        })
    },
    [errand, leaving],
  )

  async function follow({ input, options }: Run, signal: AbortSignal, show: (change: Partial<Followed>) => void) {
    const { tasks } = errand.client
    const { taskId } = await tasks.create(input, options)
    show({ taskId })
    announceCharge(errand)
    for await (const event of tasks.events(taskId, { signal })) {
      if (event.type === 'end') show({ task: event.task as EndedTask })
      else if (event.progress) show({ progress: event.progress })
    }
  }

  const cancel = useCallback(() => {
    if (state.taskId === undefined) return
    errand.client.tasks
      .cancel({ taskId: state.taskId })
      .catch((error: Error) => setState((last) => ({ ...last, error })))
  }, [errand, state.taskId])

  return { ...state, run, cancel } as TaskState<Config, Id>
}
