import { answerJson, restForm, tableType, type AnswerForm } from '../../http/answer-forms.ts'
import { csvRow } from '../../kernel/csv-text.ts'

type Value = string | number | boolean | undefined
type Row = Record<string, Value | readonly Value[]>

/** JSON, or CSV of the result's rows if the request accepts `text/csv`. */
export const tableForm: AnswerForm = {
  ...restForm,
  answer: (routed, result) => {
    const { accept = '' } = routed.request.headers
    if (!accept.includes(tableType)) return restForm.answer(routed, result)
    const {
      acts = [],
      days = acts,
      groups = days,
    } = result as Partial<Record<'acts' | 'days' | 'groups', readonly Row[]>>
    const columns = Object.keys(groups[0] ?? {}).filter((column) => !Array.isArray(groups[0]![column]))
    const text = csvRow(columns) + groups.map((row) => csvRow(columns.map((column) => row[column] as Value))).join('')
    return answerJson(routed, text, `${tableType}; charset=utf-8`)
  },
}
