import type { RateState } from '../store/limits/limit-types.ts'
import { cancelTask, type CancelTaskParts } from './cancel-task.ts'
import { createTask, type CreateTaskParts } from './create-task.ts'
import { badField } from '../kernel/errors.ts'
import { callerTurn, holdAnswer } from '../procedures/hold-answer.ts'
import { procedure, router, withScope } from '../procedures/procedure.ts'
import { getTask, listTasks } from './read-task.ts'
import {
  CancelTaskInput,
  CreateTaskInput,
  CreateTaskOutput,
  GetTaskInput,
  ListTasksInput,
  ListTasksOutput,
  Task,
  TaskEventsInput,
} from './task-schema.ts'
import { TaskStream } from './task-stream.ts'

const tags = ['Tasks']

export const tasksRouter = (parts: CreateTaskParts & CancelTaskParts) =>
  router({
    create: procedure
      .meta({
        isIdempotent: true,
        openapi: {
          method: 'POST',
          path: '/api/tasks',
          operationId: 'createTask',
          tags,
          summary: 'Create a task',
          description:
            'Charges the price of the endpoint and queues one execution. With an `Idempotency-Key`, a repeated request gets the first response and is not charged again.',
          protect: true,
          successDescription: 'The task was created and charged.',
          errorResponses: {
            400: 'The body or the params are invalid.',
            403: 'The price exceeds the balance, `maxCostUsd` or a limit, the account is blocked, or the caller lacks permission.',
            404: 'The agent endpoint or a connector was not found.',
            409: 'The Idempotency-Key was already used with a different body, or the quote was already used or has expired.',
            413: 'The body is too large.',
            415: 'The body is not JSON.',
            424: 'A connector needs a sign-in.',
          },
        },
      })
      .input(CreateTaskInput)
      .output(CreateTaskOutput)
      .mutation(
        withScope(
          'execute',
          ({ ctx, input }) => {
            const { about, call = null, caller, idempotencyKey } = ctx
            const onRate = (rate: RateState) => (ctx.rate = rate)
            const onLarge = () => callerTurn(ctx)
            return createTask(parts, { about, call, caller, input, idempotencyKey, onLarge, onRate })
          },
          'account',
        ),
      ),

    get: procedure
      .meta({
        openapi: {
          method: 'GET',
          path: '/api/tasks/{taskId}',
          operationId: 'getTask',
          tags,
          summary: 'Get a task',
          description:
            'With `wait`, the response is delayed until the task ends or the given number of seconds has passed. If 200 requests of the caller are already waiting, the response is sent immediately.',
          protect: true,
          successDescription: 'The task.',
          errorResponses: {
            400: 'A parameter is invalid.',
            404: 'The task was not found.',
          },
        },
      })
      .input(GetTaskInput)
      .output(Task)
      .query(
        withScope(
          'read',
          ({ ctx, input, signal }) => {
            const { taskId, wait = 0 } = input
            const onHold = () => holdAnswer(ctx)
            return getTask(parts, { userId: ctx.caller.userId, taskId, waitSeconds: wait, signal, onHold })
          },
          'task',
        ),
      ),

    cancel: procedure
      .meta({
        isBodyOptional: true,
        openapi: {
          method: 'POST',
          path: '/api/tasks/{taskId}/cancel',
          operationId: 'cancelTask',
          tags,
          summary: 'Cancel a task',
          description:
            'The task becomes `failed` with the code CANCELED, its charge is refunded, and a running agent is stopped. A task that has already ended is not changed. Canceling a running task counts as a failed task toward the abuse block.',
          protect: true,
          successDescription: 'The current task.',
          errorResponses: {
            400: 'A parameter is invalid.',
            404: 'The task was not found.',
            409: 'The task has already started, and its endpoint allows canceling only before that. Or the task has already called a connector or charged for an event.',
            413: 'The body is too large.',
            415: 'The body is not JSON.',
          },
        },
      })
      .input(CancelTaskInput)
      .output(Task)
      .mutation(
        withScope(
          'execute',
          ({ ctx, input }) => cancelTask(parts, { caller: ctx.caller, taskId: input.taskId }),
          'task',
        ),
      ),

    /** The resolver returns only after the stream is open, so a rejection still gets its own HTTP status. */
    events: procedure
      .meta({ isStream: true })
      .input(TaskEventsInput)
      .query(
        withScope(
          'read',
          async ({ ctx, input }): Promise<TaskStream> => {
            if (!ctx.stream) throw badField('', 'This operation returns a stream. Call it with httpBatchStreamLink')
            const { caller, stream: reader } = ctx
            const stream = await TaskStream.open(parts, { userId: caller.userId, taskId: input.taskId, reader })
            holdAnswer(ctx)
            return stream
          },
          'task',
        ),
      ),

    list: procedure
      .meta({
        openapi: {
          method: 'GET',
          path: '/api/tasks',
          operationId: 'listTasks',
          tags,
          summary: "List the caller's tasks, newest first",
          description: 'Items omit requests and responses. Use `getTask` for those.',
          protect: true,
          successDescription: 'One page of tasks and the total.',
          errorResponses: { 400: 'A parameter is invalid.' },
        },
      })
      .input(ListTasksInput)
      .output(ListTasksOutput)
      .query(
        withScope('read', ({ ctx, input }) => listTasks(parts.store, { input, userId: ctx.caller.userId }), 'account'),
      ),
  })
