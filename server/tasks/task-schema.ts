import { z } from 'zod'
import {
  cursorInput,
  cursorOutput,
  isoTimestamp,
  jsonObject,
  maxCostUsd,
  pageOutput,
  quoteId,
  resourceId,
  tagFilter,
  tagsInput,
  tagsOutput,
  timeFilter,
  usd,
} from '../kernel/wire-types.ts'
import { taskOutcomes, taskStatuses } from '../store/records.ts'
import { webhookUrl } from '../webhooks/webhook-schema.ts'

// Wire types of the task operations, shared by REST and typed RPC.

export const TaskStatus = z.enum(taskStatuses)

export const CreateTaskInput = z.object({
  endpointId: resourceId.describe('Agent endpoint to execute, `<agentId>.<name>`'),
  params: jsonObject.describe('Parameters that the endpoint requires'),
  connectorIds: z.array(resourceId).max(20).optional().describe('Connected services made available to the agent'),
  maxCostUsd: maxCostUsd.optional().describe('What the task may cost; refused where the price is above it'),
  quoteId: quoteId.optional().describe('A quote for this endpoint and these params, whose price then holds'),
  expiresInSeconds: z
    .number()
    .int()
    .min(1)
    .max(604_800)
    .optional()
    .describe('When no agent has begun the task by then, it fails with EXPIRED and is refunded'),
  timeoutSeconds: z
    .number()
    .min(0.1)
    .optional()
    .describe("How long the agent may take; at most the endpoint's own time, which is the default"),
  webhookUrl: webhookUrl
    .optional()
    .describe('A public https address that is told of the end; signed by the webhook whose `url` is null'),
  tags: tagsInput.optional(),
})

export const CreateTaskOutput = z.object({
  taskId: z.string(),
  status: z.literal('pending'),
  message: z.string(),
})

export const GetTaskInput = z.object({
  taskId: resourceId.describe('The id returned when the task was created'),
  wait: z
    .number()
    .int()
    .min(0)
    .max(60)
    .optional()
    .describe('Seconds to hold the answer until the task has ended; 0 by default'),
})

export const CancelTaskInput = z.object({ taskId: resourceId.describe('The id returned when the task was created') })

const payload = z.union([jsonObject, z.string()])
const payloadUri = z.string().optional().describe('Signed URL of the whole, present only when the field is a preview')

export const TaskProgress = z
  .object({
    fraction: z.number().optional().describe('From 0 to 1'),
    message: z.string().optional(),
    data: z.unknown().optional().describe('Any JSON'),
    at: isoTimestamp,
  })
  .meta({ id: 'TaskProgress' })
export type TaskProgress = z.output<typeof TaskProgress>

const refundedUsd = usd.describe(
  'Returned to the balance: all of the charge if the task failed, the unused part of a metered charge if it completed, else 0.0000',
)

const attempt = z.number().int().describe('The run that is under way, or was the last; 0 before the first')

export const Task = z
  .object({
    id: z.string(),
    userId: z.string(),
    agentId: z.string(),
    endpointId: z.string(),
    status: TaskStatus,
    attempt,
    progress: TaskProgress.optional().describe('What the agent said last of how far it has come'),
    request: payload.describe('The submitted params; a preview of the first 1,024 characters when larger than 16 KB'),
    requestUri: payloadUri,
    response: payload.nullable().describe('The result when completed; a preview when larger than 16 KB'),
    responseUri: payloadUri,
    error: z
      .object({ code: z.string(), message: z.string(), details: z.string() })
      .nullable()
      .describe('Null unless the task failed'),
    connectorIds: z
      .array(z.string())
      .optional()
      .describe('The connected services that it was created with; omitted when there are none'),
    tags: tagsOutput,
    costUsd: usd,
    refundedUsd,
    maxCostUsd: usd.optional().describe('Of a metered task: what it was charged when it was created'),
    usage: z
      .record(z.string(), z.number().int())
      .optional()
      .describe('Of a metered task that is completed: how many of each event were charged'),
    givenBackUsd: usd
      .optional()
      .describe('Of a metered task that is completed: the part of its charge that it did not use'),
    createdAt: isoTimestamp,
    startedAt: isoTimestamp.optional().describe('Omitted until processing starts'),
    completedAt: isoTimestamp.optional().describe('Omitted until the task has ended'),
    expiresAt: isoTimestamp.optional().describe('By when an agent must have begun it; omitted without that'),
    timeoutSeconds: z.number().optional().describe('How long the agent may take, where the request said so'),
    cancelableUntil: isoTimestamp
      .optional()
      .describe('When a run first called a connector or charged an event: the task can no longer be canceled'),
  })
  .meta({ id: 'Task' })
export type Task = z.output<typeof Task>

export const TaskEventsInput = z.object({ taskId: resourceId.describe('The id returned when the task was created') })

const timestamp = isoTimestamp

export const TaskEvent = z
  .discriminatedUnion('type', [
    z.object({
      type: z.literal('state'),
      timestamp,
      status: TaskStatus,
      attempt,
      progress: TaskProgress.optional(),
    }),
    z.object({ type: z.literal('progress'), timestamp, attempt, progress: TaskProgress }),
    z.object({ type: z.literal('end'), timestamp, task: Task }),
  ])
  .meta({ id: 'TaskEvent' })
export type TaskEvent = z.output<typeof TaskEvent>
export type ProgressEvent = Extract<TaskEvent, { type: 'progress' }>

export const ListTasksInput = z.object({
  status: TaskStatus.optional().describe('Only tasks in this state'),
  outcome: z
    .enum(taskOutcomes)
    .optional()
    .describe('Only tasks that ended so; `failed` without those that were canceled or expired'),
  agentId: resourceId.optional().describe('Only tasks of this agent'),
  ...tagFilter,
  ...timeFilter,
  ...cursorInput,
})

export const TaskListItem = z
  .object({
    id: z.string(),
    agentId: z.string(),
    endpointId: z.string(),
    status: TaskStatus,
    tags: tagsOutput,
    costUsd: usd,
    refundedUsd,
    createdAt: isoTimestamp,
    completedAt: isoTimestamp.optional(),
    errorCode: z.string().optional().describe('Code of the error of a failed task, such as CANCELED'),
  })
  .meta({ id: 'TaskListItem' })

export const ListTasksOutput = z.object({ tasks: z.array(TaskListItem), ...pageOutput, ...cursorOutput })
