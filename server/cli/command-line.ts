import { Argument, Command, Help, Option } from 'commander'
import type { ServeOptions } from '../app/config.ts'
import { loadEnvFile } from '../app/env-file.ts'
import { packageVersion } from '../kernel/package-version.ts'
import { UsageError } from '../kernel/usage-error.ts'
import { addAccounts } from './accounts/account-commands.ts'
import { reportError } from './command-errors.ts'
import type { Shell } from './completion.ts'
import { common, lazily, withLimit, withVariable, type Common } from './command-options.ts'

export async function runCommandLine(argv: readonly string[]): Promise<void> {
  const program = createProgram()
  try {
    loadEnvFile()
    await program.parseAsync(withCommand(argv))
  } catch (error) {
    reportError(error, { args: argv.slice(2), program })
  }
}

/** Without a command, the arguments are options of `errand demo`. */
function withCommand([node = '', script = '', ...args]: readonly string[]): string[] {
  const [first = '-'] = args
  const isOfAll = ['-h', '--help', '-V', '--version'].includes(first)
  return first.startsWith('-') && !isOfAll ? [node, script, 'demo', ...args] : [node, script, ...args]
}

export function createProgram(): Command {
  const program = new Command('errand')
    .description('Runs AI agents for paying users.')
    .version(packageVersion)
    .exitOverride()
    .configureOutput({ outputError: () => {} })
    .configureHelp({ optionDescription: (option) => describeOption(option) })
    .helpCommand(false)
  addServe(program)
  addAccounts(program)
  addUpkeep(program)
  addHelp(program)
  return program
}

function describeOption(option: Option): string {
  const description = new Help().optionDescription(option)
  return option.mandatory ? `${description} (required)` : description
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
      .description(
        "serve this folder's agents, or the quickstart's, with a demo user, key and balance; this is the default command",
      ),
  ).action(async (options: ServeOptions & Common) => {
    const { serveDemo } = await import('./demo.ts')
    await serveDemo(options)
  })
  common(program.command('nodes'))
    .description('list the running servers of the database, with their work and last heartbeat')
    .action(lazily(async () => (await import('./nodes.ts')).listNodes))
  common(program.command('reload'))
    .description('make the running server reload its configuration file; exit 1 if that fails')
    .action(lazily(async () => (await import('./upkeep-commands.ts')).reload))
}

function addUpkeep(program: Command): void {
  const ledger = program.command('ledger').description('check and export the ledger')
  withVariable(ledger.command('export'), 'DATA_DIR')
    .description('write all transactions to standard output, oldest first')
    .addOption(new Option('--format <format>', 'the format').choices(['csv', 'ndjson']).default('csv'))
    .option('--from <time>', 'only transactions at or after this ISO 8601 time with a time zone')
    .option('--to <time>', 'only transactions before this time')
    .action(lazily(async () => (await import('./ledger-export.ts')).exportLedger))
  common(ledger.command('verify'))
    .description('verify that balances, transactions and tasks agree; exit 1 if they do not')
    .action(lazily(async () => (await import('./upkeep-commands.ts')).verifyLedgerCommand))
  withLimit(common(program.command('audit').description('read the audit log').command('list')))
    .description('list logins and changes to users, keys, credit and limits, newest first')
    .option('--user <user>', 'only entries about this user: user id, email address or external id')
    .option('--action <action>', 'only entries with this action, such as key.created')
    .option('--after <cursor>', 'the `next` value from the previous page')
    .action(lazily(async () => (await import('./audit-list.ts')).auditList))
  common(program.command('payments').description("manage users' payments").command('reconcile'))
    .description('compare recent top-ups with the payment provider; exit 1 if they differ')
    .option('--days <days>', 'number of days, up to 366', '7')
    .option('--apply', "apply the provider's state, and credit paid top-ups that are missing from the database")
    .action(lazily(async () => (await import('./payment-commands.ts')).reconcile))
  program
    .command('mail')
    .description('manage email to users')
    .command('test')
    .description('send a test email through ERRAND_SMTP_URL; exit 1 if the server does not accept it')
    .argument('<address>', 'the recipient')
    .option('--json', 'print one JSON object')
    .action(lazily(async () => (await import('./test-mail.ts')).testMail))
  common(program.command('secret').description("manage the service's secret").command('rotate'))
    .description(
      're-encrypt the secrets of connectors, webhooks and emails with a new secret, or with ERRAND_SECRET if it is set',
    )
    .option('--lost', 'continue without the lost previous secret; users must re-enter the secrets it encrypted')
    .action(lazily(async () => (await import('./secret-commands.ts')).rotateSecret))
  common(program.command('backup'))
    .description('back up the database to FILE and the payloads to FILE.payloads, even while a server runs')
    .argument('<file>')
    .action(lazily(async () => (await import('./backups/backup.ts')).backup))
  common(program.command('restore'))
    .description("check a backup, restore it to a stopped server's data directory and list what to reconcile")
    .argument('<backup>', 'a FILE created by errand backup; its payloads are in FILE.payloads')
    .option('--replace', 'move an existing database to a subfolder')
    .option('--without-damaged', 'skip missing or damaged payloads')
    .action(lazily(async () => (await import('./backups/restore.ts')).restore))
  common(program.command('vacuum'))
    .description("shrink a stopped server's SQLite database by freeing the space of deleted data")
    .action(lazily(async () => (await import('./upkeep-commands.ts')).vacuum))
  common(program.command('export'))
    .description('export a stopped installation as NDJSON, and disable the installation')
    .argument('[file]', 'a new file, or - for standard output', '-')
    .option('--without-damaged', 'skip missing or damaged payloads')
    .option('--undo', 'make an exported installation usable here again')
    .action(lazily(async () => (await import('./transfer-commands.ts')).exportInstallation))
  common(program.command('import'))
    .description('fill an empty database with an export')
    .argument('<file>', 'the export, or - for standard input')
    .action(lazily(async () => (await import('./transfer-commands.ts')).importInstallation))
  addPrices(program)
  program
    .command('openapi')
    .description('print the OpenAPI document')
    .option('--json', 'no effect, because the output is always JSON')
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

function addPrices(program: Command): void {
  const prices = program.command('prices').description("show and update the project's price list of model providers")
  const onList = (command: Command) =>
    command
      .argument('[model...]', 'model ids, such as openai/gpt-5-mini')
      .option('--list <file>', 'the price list', 'prices.json')
      .option('--json', 'print one JSON object')
  onList(prices.command('show').description('print prices from the price list')).action(
    lazily(async () => (await import('./price-commands.ts')).showPrices),
  )
  onList(
    prices
      .command('diff')
      .description('print how a models.dev or LiteLLM file differs from the price list')
      .argument('<file>', "the file, such as models.dev's api.json"),
  ).action(lazily(async () => (await import('./price-commands.ts')).diffPrices))
  onList(
    prices
      .command('import')
      .description('print the differences, then update the models of the price list and add the given models')
      .argument('<file>', "the file, such as models.dev's api.json"),
  ).action(lazily(async () => (await import('./price-commands.ts')).importPrices))
}

function addHelp(program: Command): void {
  program
    .command('completion')
    .description('print a script that completes commands and options in a shell')
    .addArgument(new Argument('<shell>').choices(['bash', 'zsh', 'fish'] satisfies Shell[]))
    .action(async (shell: Shell) => {
      const { completionScript } = await import('./completion.ts')
      process.stdout.write(completionScript(program, shell))
    })
  program
    .command('help')
    .description('show the help of a command')
    .argument('[command...]')
    .action((names: string[]) => {
      let command = program
      for (const name of names) {
        const child = command.commands.find((known) => known.name() === name)
        if (!child) {
          throw new UsageError(`There is no command "${names.join(' ')}". Run \`errand help\` to list the commands.`)
        }
        command = child
      }
      command.outputHelp()
    })
}
