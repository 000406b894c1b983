import type { directCall } from '../../procedures/call-procedure.ts'
import type { CancelTaskParts } from '../../tasks/cancel-task.ts'
import type { CreateTaskParts } from '../../tasks/create-task.ts'

type Call = ReturnType<typeof directCall>

export type TaskAccess = {
  procedures: { cancel: Call; create: Call; get: Call }
  tasks: CreateTaskParts & CancelTaskParts
}
