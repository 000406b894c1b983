import { z } from 'zod'
import { assert } from '../../kernel/assert.ts'
import { answerJson, restForm, tableType, type AnswerForm } from '../../http/answer-forms.ts'
import { csvRow } from '../../kernel/csv-text.ts'

type Value = string | number | boolean | undefined
type Row = Record<string, Value | readonly Value[]>
type Tables = { readonly [Name in (typeof tableNames)[number]]?: readonly Row[] }

/** Names of fields that can contain the rows of a table. If a result has several, the first in this list is used. */
const tableNames = ['groups', 'topups', 'days', 'acts'] as const

/** Sends JSON, or CSV of the result's rows if the request accepts `text/csv`. */
export function tableForm(output: z.ZodType | undefined): AnswerForm {
  return {
    ...restForm,
    answer: (routed, result) => {
      const { accept = '' } = routed.request.headers
      if (!accept.includes(tableType)) return restForm.answer(routed, result)
      const name = tableNames.find((one) => (result as Tables)[one] !== undefined)
      assert(name !== undefined, 'a table has rows')
      const rows = (result as Tables)[name]!
      const [first] = rows
      const columns = first
        ? Object.keys(first).filter((column) => !Array.isArray(first[column]))
        : columnsOf(output, name)
      const text = csvRow(columns) + rows.map((row) => csvRow(columns.map((column) => row[column] as Value))).join('')
      return answerJson(routed, text, `${tableType}; charset=utf-8`)
    },
  }
}

/** Returns the columns for a table without rows: the required fields of the row's schema. */
function columnsOf(output: z.ZodType | undefined, name: string): string[] {
  assert(output instanceof z.ZodObject, 'the output of a table is an object')
  const table: unknown = output.shape[name]
  const rows = table instanceof z.ZodOptional ? table.unwrap() : table
  assert(rows instanceof z.ZodArray && rows.element instanceof z.ZodObject, 'a table is an array of objects')
  return Object.entries(rows.element.shape).flatMap(([column, type]) =>
    type instanceof z.ZodOptional || type instanceof z.ZodArray ? [] : [column],
  )
}
