import { starterKinds, taskStatuses, taskOutcomes } from '../store/tasks/task-types.ts'
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
import { WrittenRates, writtenUse } from '../billing/written-rates.ts'
import { webhookUrl } from '../webhooks/webhook-schema.ts'

export const TaskStatus = z.enum(taskStatuses)

export const CreateTaskInput = z.object({
  endpointId: resourceId.describe('Agent endpoint to execute, in the form `<agentId>.<name>`'),
  params: jsonObject.describe('Parameters of the endpoint'),
  connectorIds: z.array(resourceId).max(20).optional().describe('Ids of the connectors that the agent can use'),
  maxCostUsd: maxCostUsd
    .optional()
    .describe(
      'Cap on the cost. A request with a higher price is rejected; for a metered task, the cap lowers the maximum charge',
    ),
  quoteId: quoteId.optional().describe('A quote for this endpoint and these params, whose price applies'),
  expiresInSeconds: z
    .number()
    .int()
    .min(1)
    .max(604_800)
    .optional()
    .describe(
      'Time in seconds to start the task. If no agent starts it in time, it fails with EXPIRED and is refunded',
    ),
  timeoutSeconds: z
    .number()
    .min(0.1)
    .optional()
    .describe("Maximum run time in seconds; at most the endpoint's timeout, which is the default"),
  webhookUrl: webhookUrl
    .optional()
    .describe(
      'Public https URL to notify when the task ends. The request is signed with the secret of the webhook whose `url` is null',
    ),
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
    .describe('Maximum number of seconds to wait for the task to end before responding; 0 by default'),
})

export const CancelTaskInput = z.object({ taskId: resourceId.describe('The id returned when the task was created') })

const payload = z.union([jsonObject, z.string()])
const payloadUri = z.string().optional().describe('Signed URL of the full content; only if the field is a preview')

export const TaskProgress = z
  .object({
    fraction: z.number().optional().describe('Completed fraction, from 0 to 1'),
    message: z.string().optional(),
    data: z.unknown().optional().describe('Any JSON value from the agent'),
    at: isoTimestamp,
  })
  .meta({ id: 'TaskProgress' })
export type TaskProgress = z.output<typeof TaskProgress>

export const ProgressLine = z.object({ at: isoTimestamp, message: z.string() }).meta({ id: 'ProgressLine' })
export type ProgressLine = z.output<typeof ProgressLine>

export const LogLine = z
  .object({
    at: isoTimestamp,
    message: z.string(),
    fields: z.unknown().optional().describe('Any JSON value from the agent'),
  })
  .meta({ id: 'LogLine' })
export type LogLine = z.output<typeof LogLine>

export const droppedLines = z.number().int().describe('Number of older lines that were not stored')

const refundedUsd = usd.describe(
  'Amount returned to the balance: the full charge if the task failed, the unused part of a metered charge if it completed, otherwise 0.0000',
)

const maxChargeUsd = usd.optional().describe('Amount charged at creation; only for a metered or token-priced task')

const startedAt = isoTimestamp.optional().describe('When the current or last run started; omitted before the first run')

const attempt = z.number().int().describe('Number of the current or last run; 0 before the first')

const keyId = z
  .string()
  .optional()
  .describe('Id of the API key that created the task; omitted for other credentials, such as a browser login')

export const TaskStarter = z
  .object({
    kind: z.enum(starterKinds),
    id: z.string().optional().describe('Id of the client token; omitted for other kinds'),
  })
  .meta({ id: 'TaskStarter' })
export type TaskStarter = z.output<typeof TaskStarter>

const startedBy = TaskStarter.optional().describe('The credential that created the task, if it was not an API key')

const TaskTokens = z
  .object({
    ...writtenUse,
    isEstimated: z
      .boolean()
      .describe('Whether tokens were estimated from the text because the provider did not report them'),
    model: z.string().optional().describe('Model that answered, if the agent has fallback models'),
    exactUsd: z
      .string()
      .regex(/^\d+\.\d{9}$/)
      .describe('Sum of the components. The cost is this sum rounded up to 0.0001, and at most the charge'),
  })
  .meta({ id: 'TaskTokens' })

export const Task = z
  .object({
    id: z.string(),
    userId: z.string(),
    agentId: z.string(),
    endpointId: z.string(),
    keyId,
    startedBy,
    status: TaskStatus,
    attempt,
    progress: TaskProgress.optional().describe('Latest progress reported by the agent'),
    progressLog: z
      .object({ dropped: droppedLines, lines: z.array(ProgressLine) })
      .optional()
      .describe(
        'Progress messages of the last run, oldest first: at most 200, and at most 16 KB. Only for a completed or failed task whose agent reported messages',
      ),
    request: payload.describe('The submitted params; a preview of the first 1,024 characters if larger than 16 KB'),
    requestUri: payloadUri,
    response: payload.nullable().describe('The result of a completed task; a preview if larger than 16 KB'),
    responseUri: payloadUri,
    error: z
      .object({ code: z.string(), message: z.string(), details: z.string() })
      .nullable()
      .describe('Error of a failed task, otherwise null'),
    connectorIds: z
      .array(z.string())
      .optional()
      .describe('Ids of the connectors that the agent can use; omitted if there are none'),
    tags: tagsOutput,
    costUsd: usd,
    refundedUsd,
    maxCostUsd: maxChargeUsd,
    rates: WrittenRates.optional().describe('Rates of the model that answered; only for a token-priced task'),
    tokens: TaskTokens.optional().describe('Tokens used; only for a completed token-priced task'),
    usage: z
      .record(z.string(), z.number().int())
      .optional()
      .describe('Number of charged events by event name; only for a completed metered task'),
    givenBackUsd: usd
      .optional()
      .describe('Unused part of the charge; only for a completed metered or token-priced task'),
    createdAt: isoTimestamp,
    startedAt,
    completedAt: isoTimestamp.optional().describe('When the task ended; omitted until then'),
    prunedAt: isoTimestamp
      .optional()
      .describe(
        'When the service deleted the contents of the task, at the end of its retention. `request` is then empty, `response` is null, and an error has only its code',
      ),
    connectorMs: z
      .number()
      .int()
      .optional()
      .describe('Milliseconds that the last run waited for connectors; omitted if it did not or has not ended'),
    expiresAt: isoTimestamp
      .optional()
      .describe('When the task expires unless an agent starts it first; omitted if it does not expire'),
    timeoutSeconds: z.number().optional().describe('Maximum run time in seconds, if the request set one'),
    cancelableUntil: isoTimestamp
      .optional()
      .describe(
        'When a run first called a connector or charged for an event. From then on, the task cannot be canceled',
      ),
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

const taskFilters = {
  status: TaskStatus.optional().describe('Returns only tasks with this status'),
  outcome: z
    .enum(taskOutcomes)
    .optional()
    .describe('Returns only tasks with this outcome; `failed` excludes canceled and expired tasks'),
  agentId: resourceId.optional().describe('Returns only tasks of this agent'),
  endpointId: resourceId
    .optional()
    .describe('Returns only tasks of this endpoint, of any agent unless `agentId` is set'),
  keyId: resourceId.optional().describe('Returns only tasks created with this API key'),
  ...tagFilter,
  ...timeFilter,
  search: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe(
      'Returns only tasks whose input (field names and values) or error message contains this string, ignoring the case of A to Z. If an input is larger than 16 KB, only its first 1,024 characters are searched',
    ),
}

export const ListTasksInput = z.object({
  ...taskFilters,
  include: z
    .enum(['preview'])
    .optional()
    .describe('If `preview`, each task includes the start of its input and of its error message'),
  ...cursorInput,
})
export const ExportTasksInput = z.object(taskFilters)

export const TaskListItem = z
  .object({
    id: z.string(),
    agentId: z.string(),
    endpointId: z.string(),
    keyId,
    startedBy,
    status: TaskStatus,
    tags: tagsOutput,
    costUsd: usd,
    refundedUsd,
    maxCostUsd: maxChargeUsd,
    createdAt: isoTimestamp,
    startedAt,
    completedAt: isoTimestamp.optional(),
    errorCode: z.string().optional().describe('Error code of a failed task, such as CANCELED'),
    preview: z.string().optional().describe('First 200 characters of the input as JSON; only with `include=preview`'),
    errorMessage: z
      .string()
      .optional()
      .describe('First 200 characters of the error message of a failed task; only with `include=preview`'),
  })
  .meta({ id: 'TaskListItem' })
export type TaskListItem = z.output<typeof TaskListItem>

export const ListTasksOutput = z.object({ tasks: z.array(TaskListItem), ...pageOutput, ...cursorOutput })
