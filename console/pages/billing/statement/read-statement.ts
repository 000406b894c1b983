import { client } from '../../../app/api-client.ts'
import { readCsv } from '../../../parts/download/read-csv.ts'
import { subtractUsd, sumUsd } from '../../../parts/text/usd-units.ts'
import { nextMonth } from './statement-months.ts'

/** A row of the export, by column. Missing values are empty strings. */
type Row = Readonly<Record<string, string>>

export type Credit = { id: string; createdAt: string; description: string; amountUsd: string }
type Usage = { item: string; count: number; amountUsd: string }

export type Statement = {
  openingUsd: string
  closingUsd: string
  /** All transactions except those of tasks and chats, oldest first. */
  credits: Credit[]
  /** Net charges per endpoint, and per agent for chats, highest first. */
  usage: Usage[]
  csv: Blob
}

/** Reads the transactions of a UTC month such as `2026-10`. */
export async function readStatement(month: string, signal: AbortSignal): Promise<Statement> {
  const start = new Date(`${month}-01`)
  // `createdAfter` is exclusive, so subtract 1 ms to include the first moment of the month.
  const createdAfter = new Date(start.getTime() - 1).toISOString()
  const createdBefore = new Date(`${nextMonth(month)}-01`).toISOString()
  const csv = await readCsv(`/api/transactions/export?${new URLSearchParams({ createdAfter, createdBefore })}`, signal)
  const rows = parseRows(await csv.text()).toReversed()
  const before = { createdBefore: start.toISOString(), limit: 1 }
  const previous = rows.length > 0 ? undefined : await client.transactions.list(before, { signal })
  const closingUsd = rows.at(-1)?.['balanceAfterUsd'] ?? previous?.transactions[0]?.balanceAfterUsd ?? '0.0000'
  return {
    openingUsd: subtractUsd(closingUsd, sumUsd(rows.map(({ amountUsd = '' }) => amountUsd))),
    closingUsd,
    credits: rows.filter((row) => !isUsage(row)) as Credit[],
    usage: usageOf(rows.filter(isUsage)),
    csv,
  }
}

const isUsage = ({ taskId, turnId }: Row) => taskId !== '' || turnId !== ''

function usageOf(rows: readonly Row[]): Usage[] {
  const itemOf = ({ agentId, endpointId, turnId }: Row) => (turnId === '' ? endpointId! : `Chat with ${agentId}`)
  return [...Map.groupBy(rows, itemOf)]
    .map(([item, of]) => ({
      item,
      count: of.filter(({ type }) => type === 'task_charge' || type === 'chat_charge').length,
      amountUsd: sumUsd(of.map(({ amountUsd = '' }) => amountUsd)),
    }))
    .toSorted((a, b) => Number(a.amountUsd) - Number(b.amountUsd))
}

/** Parses the service's CSV, whose lines all end with CRLF. */
function parseRows(text: string): Row[] {
  const lines: string[][] = [[]]
  for (const [, raw = '', end] of text.matchAll(/("[^"]*(?:""[^"]*)*"|[^,\r\n]*)(,|\r\n)/g)) {
    lines.at(-1)!.push(raw.startsWith('"') ? raw.slice(1, -1).replaceAll('""', '"') : raw)
    if (end === '\r\n') lines.push([])
  }
  const [columns = [], ...rows] = lines.slice(0, -1)
  return rows.map((cells) => Object.fromEntries(columns.map((column, at) => [column, cells[at] ?? ''])))
}
