import { Command, CommanderError, InvalidArgumentError } from 'commander'
import { parseUsd } from '../kernel/money.ts'
import type { ServeOptions } from '../app/config.ts'
import { packageVersion } from '../kernel/package-version.ts'
import { UsageError } from '../kernel/usage-error.ts'
import { variables, type Variable } from '../kernel/settings.ts'

type Common = { data?: string; json?: boolean }

/** Parses and runs one command. Errors are one line on standard error; exits with 1, or with 2 for wrong usage. */
export async function runCommandLine(argv: readonly string[]): Promise<void> {
  const program = createProgram()
  try {
    await program.parseAsync(withCommand(argv))
  } catch (error) {
    if (error instanceof CommanderError) {
      // Requested help is not an error.
      process.exitCode = error.exitCode === 0 ? 0 : 2
      return
    }
    process.stderr.write(`errand: ${describe(error)}\n`)
    process.exitCode = error instanceof UsageError ? 2 : 1
  }
}

/** Without a command, `errand` runs `errand demo` with the given options. */
function withCommand([node = '', script = '', ...args]: readonly string[]): string[] {
  const [first = '-'] = args
  const isOfAll = ['-h', '--help', '-V', '--version'].includes(first)
  return first.startsWith('-') && !isOfAll ? [node, script, 'demo', ...args] : [node, script, ...args]
}

/** Describes an error in one line, and system errors in the user's terms. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { code, path, port } = error as Error & { code?: string; path?: string; port?: number }
  if (code === 'EADDRINUSE') return `The port ${port} is in use. Choose another with --port or ERRAND_PORT.`
  if (code === 'EACCES' && path !== undefined)
    return `This user cannot read or write ${path}. Change its permissions or its owner.`
  if (code === 'EROFS' && path !== undefined) {
    return `${path} is on a read-only file system. Choose another folder with --data or ERRAND_DATA_DIR.`
  }
  if ((code === 'ENOTDIR' || code === 'EEXIST') && path !== undefined) return `${path} is a file but must be a folder.`
  return error.message.replaceAll(/\s*\n\s*/g, ' ')
}

export function createProgram(): Command {
  const program = new Command('errand')
    .description('Runs AI agents for paying users.')
    .version(packageVersion)
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'errand: ')) })
    .helpCommand(false)
  addServe(program)
  addUsers(program)
  addCredit(program)
  addKeys(program)
  addPlatformKeys(program)
  addUpkeep(program)
  return program
}

function addServe(program: Command): void {
  const withServeOptions = (command: Command) => {
    for (const name of ['DATA_DIR', 'PORT', 'HOST', 'CONFIG', 'BASE_URL', 'ROLE'] as const) withVariable(command, name)
    return command.option('--json', 'print one JSON object when the service is listening')
  }
  withServeOptions(program.command('serve').description('serve the API')).action(
    async (options: ServeOptions & Common) => {
      const { serve } = await import('./serve.ts')
      await serve(options)
    },
  )
  withServeOptions(
    program
      .command('demo')
      .description("serve this folder's agents, or the quickstart's, with a demo user, key and balance (the default)"),
  ).action(async (options: ServeOptions & Common) => {
    const { serveDemo } = await import('./demo.ts')
    await serveDemo(options)
  })
}

function addUsers(program: Command): void {
  const users = program.command('users').description('manage users')
  common(users.command('create'))
    .description('create a user with an empty balance')
    .requiredOption('--email <email>', 'email address that identifies the user')
    .option('--password <password>', 'password for the browser login; at least 10 characters')
    .option('--admin', 'give the user admin rights')
    .action(lazily(async () => (await import('./user-commands.ts')).createUser))
  common(users.command('set-password'))
    .description("set a user's password, which ends all browser logins of the account")
    .requiredOption('--email <email>')
    .requiredOption('--password <password>', 'at least 10 characters')
    .action(lazily(async () => (await import('./user-commands.ts')).setPassword))
  common(users.command('list'))
    .description('list users with their balances')
    .action(lazily(async () => (await import('./user-commands.ts')).listUsers))
  common(users.command('plan'))
    .description('set the plan of a user, and limits that override it; "none" removes a plan or limit')
    .requiredOption('--email <email>')
    .option('--plan <name>', 'a plan in the configuration; none for the default plan')
    .option('--executions-per-minute <count>', 'maximum tasks and chats per minute; 0 for no limit')
    .option('--tasks-at-work <count>', 'maximum tasks running at the same time')
    .option('--tasks-waiting <count>', 'maximum queued tasks')
    .option('--spend-per-day <amount>', 'spending limit per UTC day')
    .option('--agents <list>', 'comma-separated ids of the agents that the user can run')
    .option('--config <file>', variables.ERRAND_CONFIG.meaning)
    .option('--force', 'set the plan even if it is not in the configuration')
    .action(lazily(async () => (await import('./user-limits.ts')).setPlan))
  common(users.command('unblock'))
    .description('lift the abuse block of a user')
    .requiredOption('--email <email>')
    .action(lazily(async () => (await import('./user-commands.ts')).unblockUser))
}

function addCredit(program: Command): void {
  common(program.command('credit'))
    .description("add to a user's balance; a negative amount is an adjustment")
    .requiredOption('--email <email>')
    .requiredOption('--usd <amount>', 'USD with at most four decimals, such as 25.00', amount)
    .option('--reason <text>', 'description of the transaction, visible to the user', 'Credit')
    .option('--idempotency-key <key>', 'repeating the command with the same key credits only once')
    .action(lazily(async () => (await import('./user-commands.ts')).credit))
}

function addKeys(program: Command): void {
  const keys = program.command('keys').description('manage API keys')
  common(keys.command('create'))
    .description('create an API key and print it once')
    .requiredOption('--email <email>')
    .requiredOption('--name <name>', 'what the key is for')
    .option('--scopes <list>', 'comma-separated: read, execute, manage (all by default)')
    .option('--expires-days <days>', 'never by default', wholeDays)
    .option('--limit-usd <amount>', 'spending limit of the key per period')
    .option(
      '--limit-reset <period>',
      'how often the spending limit resets, in UTC: never (the default), day, week or month',
    )
    .option('--executions-per-minute <count>', 'maximum tasks and chats per minute with the key')
    .option('--agents <list>', 'comma-separated ids of the agents that the key can run (all by default)')
    .action(lazily(async () => (await import('./key-commands.ts')).createKeyForUser))
  common(keys.command('list'))
    .description("list a user's keys")
    .requiredOption('--email <email>')
    .action(lazily(async () => (await import('./key-commands.ts')).listKeysOfUser))
  common(keys.command('revoke'))
    .description('revoke a key immediately')
    .requiredOption('--email <email>')
    .requiredOption('--key-id <id>', 'the id that `keys list` shows')
    .action(lazily(async () => (await import('./key-commands.ts')).revokeKeyOfUser))
}

function addPlatformKeys(program: Command): void {
  const keys = program.command('platform-key').description('manage keys for products built on the service')
  common(keys.command('create'))
    .description('create a platform key and print it once')
    .requiredOption('--name <name>', 'what the key is for')
    .requiredOption('--scopes <list>', 'comma-separated: users, credit, limits, act')
    .option('--addresses <list>', 'comma-separated IP addresses and networks allowed to use the key (all by default)')
    .option('--credit-per-day <usd>', 'credit limit per UTC day (none by default)')
    .option('--expires-days <days>', 'never by default', wholeDays)
    .action(lazily(async () => (await import('./platform-key-commands.ts')).createPlatformKeyCommand))
  common(keys.command('list'))
    .description('list platform keys')
    .action(lazily(async () => (await import('./platform-key-commands.ts')).listPlatformKeysCommand))
  common(keys.command('revoke'))
    .description('revoke a platform key and the client tokens created with it immediately')
    .requiredOption('--key-id <id>', 'the id that `platform-key list` shows')
    .action(lazily(async () => (await import('./platform-key-commands.ts')).revokePlatformKeyCommand))
}

function addUpkeep(program: Command): void {
  common(program.command('ledger').description('the ledger').command('verify'))
    .description('verify that balances, transactions and tasks agree; exit 1 if they do not')
    .action(lazily(async () => (await import('./upkeep-commands.ts')).verifyLedgerCommand))
  common(program.command('payments').description('payments of users').command('reconcile'))
    .description('compare recent top-ups with the payment provider; exit 1 if they differ')
    .option('--days <n>', 'number of days, up to 366', '7')
    .option('--apply', "apply the provider's state, and credit paid top-ups that are missing here")
    .action(lazily(async () => (await import('./payment-commands.ts')).reconcile))
  common(program.command('secret').description("the service's secret").command('rotate'))
    .description('re-encrypt the secrets of connectors and webhooks with a new secret or with ERRAND_SECRET')
    .option('--lost', 'continue without the lost previous secret; users must enter again what it encrypted')
    .action(lazily(async () => (await import('./secret-commands.ts')).rotateSecret))
  common(program.command('backup'))
    .description('copy the database to FILE and the payloads to FILE.payloads, even while a server is running')
    .argument('<file>')
    .action(lazily(async () => (await import('./upkeep-commands.ts')).backup))
  common(program.command('migrate-to'))
    .description('copy a stopped installation to an empty PostgreSQL database, and verify that the copy is complete')
    .argument('[url]', 'postgres://… URL of the database (ERRAND_DATABASE_URL)')
    .option('--without-damaged', 'leave missing or damaged payloads behind')
    .action(lazily(async () => (await import('./migrate-to.ts')).migrateTo))
  program
    .command('openapi')
    .description('print the OpenAPI document')
    .option('--json', 'no effect: the output is always JSON')
    .action(lazily(async () => (await import('./upkeep-commands.ts')).printOpenApi))
  const doctor = program.command('doctor').description('check an installation for problems; exit 1 if there are any')
  for (const name of ['DATA_DIR', 'PORT', 'HOST', 'CONFIG'] as const) withVariable(doctor, name)
  doctor.option('--json', 'print one JSON object').action(lazily(async () => (await import('./doctor.ts')).doctor))
  program
    .command('init')
    .description('create a project with an agent, a client and a test in a folder')
    .argument('[folder]', 'the folder', '.')
    .action(lazily(async () => (await import('./init.ts')).init))
}

/** Loads a command's implementation only when it is run. */
function lazily<Args extends unknown[]>(load: () => Promise<(...args: Args) => Promise<void>>) {
  return async (...args: Args): Promise<void> => await (await load())(...args)
}

function common(command: Command): Command {
  return withVariable(command, 'DATA_DIR').option('--json', 'print one JSON object')
}

function withVariable(command: Command, name: 'DATA_DIR' | 'PORT' | 'HOST' | 'CONFIG' | 'BASE_URL' | 'ROLE'): Command {
  const { meaning, option, ...variable }: Variable & { option: string } = variables[`ERRAND_${name}`]
  const byDefault = variable.default === undefined ? '' : `, ${variable.default}`
  return command.option(option, `${meaning} (ERRAND_${name}${byDefault})`)
}

function amount(text: string): number {
  const units = parseUsd(text)
  if (units === undefined) throw new InvalidArgumentError('It must be a USD amount with at most four decimals.')
  if (units === 0) throw new InvalidArgumentError('It must not be zero.')
  return units
}

function wholeDays(text: string): number {
  const days = Number(text)
  if (!/^\d{1,4}$/.test(text) || days < 1)
    throw new InvalidArgumentError('It must be a whole number of days, at least 1.')
  return days
}
