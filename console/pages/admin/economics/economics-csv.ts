import type { Economics } from '../../../../client/client.ts'
import { csvRow } from '../../billing/csv-text.ts'

const columns = [
  'value',
  'email',
  'executions',
  'failures',
  'chargedUsd',
  'refundedUsd',
  'revenueUsd',
  'writtenOffUsd',
  'providerCostUsd',
  'marginUsd',
] as const

/** One row per group, with the names of the API as headings. */
export function economicsCsv({ groups }: Economics): string {
  return csvRow(columns) + groups.map((group) => csvRow(columns.map((name) => group[name]))).join('')
}
