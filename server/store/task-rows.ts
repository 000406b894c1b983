import type { TaskRecord, TaskStatus } from './records.ts'

/** A row of the table as an engine reads it. */
export type TaskRow = {
  seq: number
  id: string
  userId: string
  agentId: string
  endpointId: string
  status: TaskStatus
  queued: number
  attempt: number
  cost: number
  request: string
  requestPayload: string | null
  response: string | null
  responsePayload: string | null
  errorCode: string | null
  errorMessage: string | null
  errorDetails: string | null
  connectorIds: string | null
  createdAt: number
  startedAt: number | null
  completedAt: number | null
}

/** A row's values in the order of the schema's columns. */
export type TaskValues = [
  seq: number,
  id: string,
  userId: string,
  agentId: string,
  endpointId: string,
  status: TaskStatus,
  queued: number,
  attempt: number,
  cost: number,
  request: string,
  requestPayload: string | null,
  response: string | null,
  responsePayload: string | null,
  errorCode: string | null,
  errorMessage: string | null,
  errorDetails: string | null,
  connectorIds: string | null,
  createdAt: number,
  startedAt: number | null,
  completedAt: number | null,
]

/** As `taskRecord`, without an object for the row between: a read of a task is what clients ask for most. */
export function taskRecordOf(values: TaskValues): TaskRecord {
  const responseText = values[11]
  const errorCode = values[13]
  return {
    seq: values[0],
    id: values[1],
    userId: values[2],
    agentId: values[3],
    endpointId: values[4],
    status: values[5],
    attempt: values[7],
    cost: values[8],
    request: { text: values[9], payloadId: values[10] },
    response: responseText === null ? null : { text: responseText, payloadId: values[12] },
    error: errorCode === null ? null : { code: errorCode, message: values[14] ?? '', details: values[15] ?? '' },
    connectorIds: values[16] === null ? null : (JSON.parse(values[16]) as string[]),
    createdAt: values[17],
    startedAt: values[18],
    completedAt: values[19],
  }
}

export function taskRecord(row: TaskRow): TaskRecord {
  return taskRecordOf([
    row.seq,
    row.id,
    row.userId,
    row.agentId,
    row.endpointId,
    row.status,
    row.queued,
    row.attempt,
    row.cost,
    row.request,
    row.requestPayload,
    row.response,
    row.responsePayload,
    row.errorCode,
    row.errorMessage,
    row.errorDetails,
    row.connectorIds,
    row.createdAt,
    row.startedAt,
    row.completedAt,
  ])
}
