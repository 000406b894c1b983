import type { TaskRecord } from '../records.ts'
import type { tasks } from './schema.ts'

type TaskRow = typeof tasks.$inferSelect

export function taskRecord(row: TaskRow): TaskRecord {
  const { errorCode, errorMessage, errorDetails } = row
  return {
    seq: row.seq,
    id: row.id,
    userId: row.userId,
    agentId: row.agentId,
    endpointId: row.endpointId,
    status: row.status,
    attempt: row.attempt,
    cost: row.cost,
    request: { text: row.request, payloadId: row.requestPayload },
    response: row.response === null ? null : { text: row.response, payloadId: row.responsePayload },
    error: errorCode === null ? null : { code: errorCode, message: errorMessage ?? '', details: errorDetails ?? '' },
    connectorIds: row.connectorIds === null ? null : (JSON.parse(row.connectorIds) as string[]),
    createdAt: row.createdAt,
    startedAt: row.startedAt,
    completedAt: row.completedAt,
  }
}
