import type { Metering } from '../../billing/event-charges.ts'
import type { RunOf } from '../../connectors/thread/run-connectors.ts'
import type { TaskTokens } from './task-tokens.ts'
import type { TaskRun } from '../config/define-config.ts'

export type EndpointRun = RunOf<TaskRun> & {
  readonly metering?: Metering | undefined
  /** Set if the task is token-priced or its tokens have a known cost to the operator. */
  readonly tokens?: TaskTokens
  readonly resultBytesMax: number
}
