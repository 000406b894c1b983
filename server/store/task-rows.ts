import type { TaskRecord, TaskStatus } from './records.ts'

/** A row of the table as an engine reads it. */
export type TaskRow = {
  seq: number
  id: string
  userId: string
  agentId: string
  endpointId: string
  status: TaskStatus
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

/** What is read of a row; `queued` is part of statements only. */
export const taskColumns =
  'seq id userId agentId endpointId status attempt cost request requestPayload' +
  ' response responsePayload errorCode errorMessage errorDetails connectorIds createdAt startedAt completedAt'

export function taskRecord(row: TaskRow): TaskRecord {
  const { attempt, connectorIds, cost, errorCode, errorDetails, errorMessage, response } = row
  return {
    seq: row.seq,
    id: row.id,
    userId: row.userId,
    agentId: row.agentId,
    endpointId: row.endpointId,
    status: row.status,
    attempt,
    cost,
    request: { text: row.request, payloadId: row.requestPayload },
    response: response === null ? null : { text: response, payloadId: row.responsePayload },
    error: errorCode === null ? null : { code: errorCode, message: errorMessage ?? '', details: errorDetails ?? '' },
    connectorIds: connectorIds === null ? null : (JSON.parse(connectorIds) as string[]),
    createdAt: row.createdAt,
    startedAt: row.startedAt,
    completedAt: row.completedAt,
  }
}
