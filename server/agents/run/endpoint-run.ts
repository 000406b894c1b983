import type { Metering } from '../../billing/event-charges.ts'
import type { RunOf } from '../../connectors/thread/run-connectors.ts'
import type { TaskTokens } from './task-tokens.ts'
import type { TaskRun } from '../config/define-config.ts'

/** A task's run as the service starts it. */
export type EndpointRun = RunOf<TaskRun> & {
  /** Set if the task is metered. */
  readonly metering?: Metering | undefined
  /** Set if the task is token-priced, or if the cost of its tokens is known. */
  readonly tokens?: TaskTokens
}
