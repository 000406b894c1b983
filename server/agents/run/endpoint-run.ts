import type { Metering } from '../../billing/event-charges.ts'
import type { RunOf } from '../../connectors/thread/run-connectors.ts'
import type { TaskRun } from '../config/define-config.ts'

/** A task's run as the service starts it. `metering` is set if the task is metered. */
export type EndpointRun = RunOf<TaskRun> & { readonly metering?: Metering | undefined }
