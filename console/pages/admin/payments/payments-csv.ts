import { readCsv } from '../../../parts/download/read-csv.ts'

const limit = 100

/** Returns all pages of the top-ups as one file. The cursor of the next page is the last id, in the first column. */
export async function paymentsCsv(filters: Readonly<Record<string, string>>): Promise<Blob> {
  const files: string[] = []
  let after = ''
  do {
    const query = new URLSearchParams({ ...filters, limit: String(limit), ...(after && { after }) })
    const [head = '', ...rows] = (await (await readCsv(`/api/payments?${query}`)).text()).trimEnd().split('\r\n')
    files.push(...(after ? rows : [head, ...rows]))
    after = rows.length < limit ? '' : rows.at(-1)!.split(',')[0]!
  } while (after)
  return new Blob([files.map((row) => `${row}\r\n`).join('')], { type: 'text/csv' })
}
