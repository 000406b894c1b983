import { ErrandClientError } from '../../client/client.ts'
import { errorText, messageText } from './text/error-text.ts'

export type FieldErrors = {
  /** Messages by field path, for Mantine's `error` prop. */
  fields: Readonly<Record<string, string | undefined>>
  /** Message for errors that do not belong to any field, shown above the form. Undefined if every error has a field. */
  rest: string | undefined
}

/** Splits the error of a submitted form into field errors and the rest. Removes `prefix` from paths. */
export function fieldErrors(error: unknown, names: readonly string[], prefix = ''): FieldErrors {
  if (error === null || error === undefined) return { fields: {}, rest: undefined }
  const details = error instanceof ErrandClientError ? error.details : []
  const fields: Record<string, string> = {}
  const others: string[] = []
  for (const { path, message: sent } of details) {
    const message = messageText(sent)
    const own = prefix && path.startsWith(`${prefix}.`) ? path.slice(prefix.length + 1) : path
    const name = names.find((one) => own === one || own.startsWith(`${one}.`))
    if (name === undefined) others.push(path ? `${path}: ${message}` : message)
    else fields[name] ??= own === name ? message : `${own.slice(name.length + 1)}: ${message}`
  }
  if (details.length === 0) return { fields, rest: errorText(error) }
  return { fields, rest: others.length > 0 ? others.join('. ') : undefined }
}
