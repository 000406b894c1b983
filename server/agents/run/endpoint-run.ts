import type { Metering } from '../../billing/event-charges.ts'
import type { RunOf } from '../../connectors/thread/run-connectors.ts'
import type { TaskRun } from '../config/define-config.ts'

/** A task's run as the service begins it; `metering` is that of a metered task. */
export type EndpointRun = RunOf<TaskRun> & { readonly metering?: Metering | undefined }
