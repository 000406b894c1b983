import type { StoredModelRates } from '../sessions/stored-rates.ts'
import type { StoredTaskTokens, TaskRecord, Tags } from './task-types.ts'
import type { TaskRow } from '../tables/work-tables.ts'

/** Columns of a task record. `queued` is omitted, because only SQL statements use it. */
export const taskColumns =
  'seq id userId agentId endpointId keyId startedBy status attempt cost request requestPayload' +
  ' response responsePayload errorCode errorMessage errorDetails connectorIds' +
  ' givenBack meters rates usage tags progress runLog expiresAt timeoutMs cancelableUntil createdAt startedAt completedAt prunedAt'

/** SQL that tests whether a queued task can still be started. */
export const inTime = '(expires_at IS NULL OR expires_at > :now OR started_at IS NOT NULL)'

export type ReadTaskRow = Omit<TaskRow, 'providerCost' | 'quoteId' | 'webhookUrl'>

export function taskRecord(row: ReadTaskRow): TaskRecord {
  const { attempt, connectorIds, cost, errorCode, errorDetails, errorMessage, response } = row
  return {
    seq: row.seq,
    id: row.id,
    userId: row.userId,
    agentId: row.agentId,
    endpointId: row.endpointId,
    keyId: row.keyId,
    startedBy: row.startedBy,
    status: row.status,
    attempt,
    cost,
    givenBack: row.givenBack,
    meters: parsed(row.meters) as Record<string, number> | null,
    rates: parsed(row.rates) as StoredModelRates[] | null,
    usage: row.rates === null ? (parsed(row.usage) as Record<string, number> | null) : null,
    tokens: row.rates === null ? null : (parsed(row.usage) as StoredTaskTokens | null),
    request: { text: row.request, payloadId: row.requestPayload },
    response: response === null ? null : { text: response, payloadId: row.responsePayload },
    error: errorCode === null ? null : { code: errorCode, message: errorMessage ?? '', details: errorDetails ?? '' },
    connectorIds: parsed(connectorIds) as string[] | null,
    tags: parsed(row.tags) as Tags | null,
    progress: row.progress,
    runLog: row.runLog,
    expiresAt: row.expiresAt,
    timeoutMs: row.timeoutMs,
    cancelableUntil: row.cancelableUntil,
    createdAt: row.createdAt,
    startedAt: row.startedAt,
    completedAt: row.completedAt,
    prunedAt: row.prunedAt,
  }
}

function parsed(json: string | null): unknown {
  return json === null ? null : JSON.parse(json)
}
