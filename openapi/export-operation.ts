import { exportedTypes } from '../server/store/erasure/personal-data.ts'
import { linesOf } from './chat-operation.ts'
import { refusals } from './follow-operation.ts'

type Json = Record<string, unknown>

export function exportOperation({ headers }: { headers: Json }): Json {
  const type = 'application/x-ndjson'
  return {
    operationId: 'exportAccount',
    tags: ['Billing'],
    summary: 'Export all data of the account',
    description:
      'The response has one JSON object per line (`ExportLine`): the account, keys, logins, connectors and webhooks without secrets, top-ups, transactions, tasks with params and results, sessions with messages and files, and entries of the audit log. An export without the last line `end` is incomplete. Tasks that are created during the export are not part of it. Requires the `manage` scope.',
    security: [{ apiKey: [] }, { browserSession: [] }],
    parameters: [],
    responses: {
      200: {
        description: 'The data, as a file.',
        headers,
        content: { [type]: { schema: linesOf('ExportLine', type) } },
      },
      ...refusals({ 429: 'An export of this account is already in progress.' }),
    },
  }
}

export function exportTransactionsOperation({ headers }: { headers: Json }, parameters: unknown): Json {
  return {
    operationId: 'exportTransactions',
    tags: ['Billing'],
    summary: "Export the caller's transactions as CSV",
    description:
      'The response has one line per transaction, newest first, after a line with the column names. Besides the fields of a transaction, it has the agent, endpoint and API key of the task or turn, and the tags of the task or session as `name:value`. Transactions that are created during the export are not part of it. Requires the `read` scope.',
    security: [{ apiKey: [] }, { browserSession: [] }, { platformKey: [] }],
    parameters,
    responses: {
      200: {
        description: 'The transactions, as a file.',
        headers,
        content: { 'text/csv': { schema: { type: 'string' } } },
      },
      ...refusals({ 400: 'A parameter is invalid.', 429: 'An export of these transactions is already in progress.' }),
    },
  }
}

export function exportTasksOperation({ headers }: { headers: Json }, parameters: unknown): Json {
  const lines = 'application/x-ndjson'
  return {
    operationId: 'exportTasks',
    tags: ['Tasks'],
    summary: "Export the caller's tasks as CSV or JSON lines",
    description:
      'The response has one line per task, newest first. The default format is CSV with a header line. Its column `queuedMs` is the time from the creation of the task to the start of its last run, and `ranMs` is the duration of that run. With `Accept: application/x-ndjson`, each line is a `TaskListItem` as JSON. Excludes params, results, and tasks that are created during the export. Requires the `read` scope.',
    security: [{ apiKey: [] }, { browserSession: [] }, { platformKey: [] }],
    parameters,
    responses: {
      200: {
        description: 'The tasks, as a file.',
        headers,
        content: { 'text/csv': { schema: { type: 'string' } }, [lines]: { schema: linesOf('TaskListItem', lines) } },
      },
      ...refusals({ 400: 'A parameter is invalid.', 429: 'An export of these tasks is already in progress.' }),
    },
  }
}

export const exportSchemas: Json = {
  ExportLine: {
    type: 'object',
    required: ['type', 'data'],
    properties: {
      type: { type: 'string', enum: [...exportedTypes, 'end'] },
      data: {
        type: 'object',
        additionalProperties: {},
        description: 'The fields of the API, or for `end` the number of lines',
      },
    },
    description: 'One line of an export.',
  },
}
