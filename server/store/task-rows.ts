import type { TaskRecord } from './records.ts'
import type { TaskRow } from './tables/work-tables.ts'

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
