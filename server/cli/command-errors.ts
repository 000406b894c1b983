import { CommanderError, type Command } from 'commander'
import { badField, ErrandError, errorBody } from '../kernel/errors.ts'
import { UsageError } from '../kernel/usage-error.ts'
import { optionOf } from './command-options.ts'

/**
 * Prints an error to standard error, as one line or, with `--json`, as the API's error body. Sets the exit code to 1,
 * or to 2 for invalid usage.
 */
export function reportError(error: unknown, { args, program }: { args: readonly string[]; program: Command }): void {
  const isOfParser = error instanceof CommanderError
  if (isOfParser && error.exitCode === 0) return
  process.exitCode = isOfParser || error instanceof UsageError ? 2 : 1
  // Commander has already printed the help of a command group without a subcommand.
  if (isOfParser && error.code === 'commander.help') return
  const body = errorBody(isOfParser ? describeUsage(error, helpFor(program, args)) : toError(error))
  process.stderr.write(args.includes('--json') ? `${JSON.stringify(body)}\n` : `errand: ${body.message}\n`)
}

/** Rewrites a Commander error such as `error: option '--limit-usd <amount>' argument missing` in our format. */
function describeUsage({ message: given }: CommanderError, help: string): ErrandError {
  const text = inOneLine(given.replace(/^error: /, ''))
  const message = `${/[.?)]$/.test(text) ? text : `${text}.`} Run \`${help}\`.`
  const option = /'(--[\w-]+)/.exec(text)?.[1]
  return new ErrandError('BAD_REQUEST', message, option === undefined ? {} : { details: [{ path: option, message }] })
}

function helpFor(program: Command, args: readonly string[]): string {
  const names = ['errand help']
  let command: Command | undefined = program
  for (const arg of args) {
    command = command.commands.find((child) => child.name() === arg)
    if (!command) break
    names.push(arg)
  }
  return names.join(' ')
}

function toError(error: unknown): ErrandError {
  if (error instanceof ErrandError) {
    const [detail] = error.details ?? []
    return detail ? badField(optionOf(detail.path), detail.message) : error
  }
  if (!(error instanceof UsageError)) return new ErrandError('INTERNAL_ERROR', describe(error))
  const { message } = error
  const [, path, what] = /^(--[\w-]+|[A-Z_]+)(?: or [A-Z_]+)?: (.*)$/s.exec(message) ?? []
  const details = path === undefined || what === undefined ? {} : { details: [{ path, message: inOneLine(what) }] }
  return new ErrandError('BAD_REQUEST', inOneLine(message), details)
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { code, path, port } = error as Error & { code?: string; path?: string; port?: number }
  if (code === 'EADDRINUSE') return `The port ${port} is in use. Choose another port with --port or ERRAND_PORT.`
  if (code === 'EACCES' && path !== undefined)
    return `This user cannot read or write ${path}. Change its permissions or its owner.`
  if (code === 'EROFS' && path !== undefined) {
    return `${path} is on a read-only file system. Choose another folder with --data or ERRAND_DATA_DIR.`
  }
  if ((code === 'ENOTDIR' || code === 'EEXIST') && path !== undefined)
    return `${path} is a file. Choose a folder with --data or ERRAND_DATA_DIR.`
  return inOneLine(error.message)
}

function inOneLine(text: string): string {
  return text.replaceAll(/\s*\n\s*/g, ' ')
}
