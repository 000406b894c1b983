import { InvalidArgumentError, type Command } from 'commander'
import type { z } from 'zod'
import { issueMessage } from '../kernel/bad-input.ts'
import { UsageError } from '../kernel/usage-error.ts'
import { variables, type Variable } from '../kernel/settings.ts'

export type Common = { data?: string; json?: boolean }

// Options are named after API fields, so that the API's schemas can validate them.

export function common(command: Command): Command {
  return withVariable(command, 'DATA_DIR').option('--json', 'print one JSON object')
}

export function withVariable(
  command: Command,
  name: 'DATA_DIR' | 'PORT' | 'HOST' | 'CONFIG' | 'BASE_URL' | 'ROLE',
): Command {
  const { meaning, option, ...variable }: Variable & { option: string } = variables[`ERRAND_${name}`]
  const byDefault = variable.default === undefined ? '' : `, ${variable.default}`
  return command.option(option, `${meaning} (ERRAND_${name}${byDefault})`)
}

export function withLimit(command: Command): Command {
  return command.option('--limit <count>', 'page size, 1 to 100 (50 by default)', wholeNumber)
}

export function lazily<Args extends unknown[]>(load: () => Promise<(...args: Args) => Promise<void>>) {
  return async (...args: Args): Promise<void> => await (await load())(...args)
}

export function wholeNumber(text: string): number {
  if (!/^\d{1,10}$/.test(text)) throw new InvalidArgumentError('Use a whole number.')
  return Number(text)
}

export function listOf(text: string): string[] {
  return text.split(',').map((item) => item.trim())
}

/** Makes an option parser also accept "none", which removes a plan or a limit. */
export function orNone<Value>(parse: (text: string) => Value) {
  return (text: string): Value | 'none' => (text === 'none' ? text : parse(text))
}

/** Validates options with an API schema. Throws a UsageError that names the option. */
export function parseInput<Schema extends z.ZodType>(schema: Schema, options: object): z.output<Schema> {
  const parsed = schema.safeParse(options)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw new UsageError(`${optionOf(String(issue?.path[0]))}: ${issueMessage(issue!)}`)
}

/** Converts an API field to its option, such as `amountUsd` to `--amount-usd`. */
export function optionOf(field: string): string {
  return field.startsWith('--') ? field : `--${field.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}
