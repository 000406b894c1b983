import type { Command } from 'commander'
import { variables } from '../../kernel/settings.ts'
import { common, lazily, listOf, orNone, wholeNumber, withLimit } from '../command-options.ts'

export function addAccounts(program: Command): void {
  addUsers(program.command('users').description('manage users'))
  addKeys(program.command('keys').description('manage API keys'))
  addPlatformKeys(program.command('platform-keys').description('manage keys for products built on the service'))
}

function addUsers(users: Command): void {
  withPassword(common(users.command('create')))
    .description('create a user with an empty balance')
    .requiredOption('--email <email>', 'email address that identifies the user')
    .option('--admin', 'give the user admin rights')
    .action(lazily(async () => (await import('./user-commands.ts')).createUser))
  withOffset(common(users.command('list')))
    .description('list users with their balances, oldest first')
    .option('--search <string>', 'only users whose email address or external id contains this string')
    .action(lazily(async () => (await import('./user-lists.ts')).listUsers))
  ofUser(users.command('show'))
    .description('show a user: balance, plan, limits and blocks')
    .action(lazily(async () => (await import('./user-commands.ts')).showUser))
  withPassword(ofUser(users.command('set-password')))
    .description("set a user's password, which ends all browser logins of the account")
    .action(lazily(async () => (await import('./user-commands.ts')).setPassword))
  ofUser(users.command('suspend'))
    .description("block every request of a user and end the user's browser logins")
    .action(lazily(async () => (await import('./user-commands.ts')).suspendUser))
  ofUser(users.command('resume'))
    .description('end the suspension of a user')
    .action(lazily(async () => (await import('./user-commands.ts')).resumeUser))
  ofUser(users.command('export'))
    .description("print a user's account, tasks, chats and transactions, one JSON object per line")
    .action(lazily(async () => (await import('./user-export.ts')).exportUser))
  ofUser(users.command('erase'))
    .description("erase a user's contents, credentials and name permanently, but keep the ledger")
    .option('--forfeit-balance-usd <amount>', 'must equal the balance, which is written off', '0')
    .option('--leave-saved-method', 'erase even if the saved payment method cannot be removed at the payment provider')
    .action(lazily(async () => (await import('./user-commands.ts')).eraseUser))
  ofUser(users.command('unblock'))
    .description('lift the abuse block of a user')
    .action(lazily(async () => (await import('./user-commands.ts')).unblockUser))
  ofUser(users.command('plan'))
    .description('set the plan of a user, and limits that override it; "none" removes a plan or limit')
    .option('--plan <name>', 'a plan in the configuration; none for the default plan', orNone(String))
    .option(
      '--executions-per-minute <count>',
      'maximum tasks and turns per minute; 0 for no limit',
      orNone(wholeNumber),
    )
    .option('--tasks-at-work <count>', 'maximum tasks running at the same time', orNone(wholeNumber))
    .option('--tasks-waiting <count>', 'maximum queued tasks', orNone(wholeNumber))
    .option('--spend-per-day-usd <amount>', 'spending limit per UTC day', orNone(String))
    .option('--agents <ids>', 'comma-separated ids of the agents that the user can run', orNone(listOf))
    .option('--config <file>', variables.ERRAND_CONFIG.meaning)
    .option('--force', 'set the plan even if the configuration does not have it')
    .action(lazily(async () => (await import('./user-limits.ts')).setPlan))
  ofUser(users.command('credit'))
    .description("add to a user's balance; a negative amount is an adjustment")
    .requiredOption('--amount-usd <amount>', 'USD with at most four decimals, such as 25.00')
    .option('--reason <text>', 'description of the transaction, visible to the user', 'Credit')
    .option('--idempotency-key <key>', 'repeating the command with the same key credits only once')
    .action(lazily(async () => (await import('./user-commands.ts')).creditUser))
  withCursor(ofUser(users.command('tasks')))
    .description("list a user's tasks, newest first")
    .option('--status <status>', 'only tasks with this status (pending, processing, completed or failed)')
    .option('--outcome <outcome>', 'only tasks with this outcome (completed, failed, canceled or expired)')
    .option('--agent-id <id>', 'only tasks of this agent')
    .action(lazily(async () => (await import('./user-lists.ts')).listTasks))
  withCursor(ofUser(users.command('transactions')))
    .description("list a user's transactions, newest first")
    .option('--type <type>', 'only transactions of this type, such as credit or task_charge')
    .option('--task-id <id>', 'only the charge and refund of this task')
    .option('--session-id <id>', 'only the charges of turns in this session')
    .action(lazily(async () => (await import('./user-lists.ts')).listTransactions))
}

function addKeys(keys: Command): void {
  ofUser(keys.command('create'))
    .description('create an API key and print it once')
    .requiredOption('--name <name>', 'what the key is for')
    .option('--scopes <scopes>', 'comma-separated: read, execute, manage (all by default)', listOf)
    .option('--expires-in-days <days>', 'days until the key expires (never by default)', wholeNumber)
    .option('--limit-usd <amount>', 'spending limit of the key per period')
    .option(
      '--limit-reset <period>',
      'how often the spending limit resets, in UTC: never (the default), day, week or month',
    )
    .option('--executions-per-minute <count>', 'maximum tasks and turns per minute with the key', wholeNumber)
    .option('--agents <ids>', 'comma-separated ids of the agents that the key can run (all by default)', listOf)
    .action(lazily(async () => (await import('./key-commands.ts')).createUserKey))
  withOffset(ofUser(keys.command('list')))
    .description("list a user's keys, newest first")
    .option('--state <state>', 'live: only active keys; ended: only revoked or expired keys')
    .action(lazily(async () => (await import('./key-commands.ts')).listUserKeys))
  withKey(ofUser(keys.command('rotate')), 'keys')
    .description('replace a key and print the new one once; the old one stays valid during the overlap')
    .option('--overlap-seconds <seconds>', 'how long the old key stays valid (86400 by default)', wholeNumber)
    .action(lazily(async () => (await import('./key-commands.ts')).rotateUserKey))
  withKey(ofUser(keys.command('revoke')), 'keys')
    .description('immediately revoke a key')
    .action(lazily(async () => (await import('./key-commands.ts')).revokeUserKey))
}

function addPlatformKeys(keys: Command): void {
  common(keys.command('create'))
    .description('create a platform key and print it once')
    .requiredOption('--name <name>', 'what the key is for')
    .requiredOption(
      '--scopes <scopes>',
      'comma-separated: users, credit, limits, act, pay, connectors, webhooks, economics',
      listOf,
    )
    .option(
      '--addresses <networks>',
      'comma-separated IP addresses and networks allowed to use the key (all by default)',
      listOf,
    )
    .option('--credit-per-day-usd <amount>', 'credit limit per UTC day (none by default)')
    .option('--expires-in-days <days>', 'days until the key expires (never by default)', wholeNumber)
    .action(lazily(async () => (await import('./platform-key-commands.ts')).createOwnKey))
  withOffset(common(keys.command('list')))
    .description('list platform keys, newest first')
    .action(lazily(async () => (await import('./platform-key-commands.ts')).listOwnKeys))
  withKey(common(keys.command('revoke')), 'platform-keys')
    .description('immediately revoke a platform key and the client tokens created with it')
    .action(lazily(async () => (await import('./platform-key-commands.ts')).revokeOwnKey))
}

function ofUser(command: Command): Command {
  return common(command).requiredOption('--user <user>', 'user id, email address or external id')
}

function withKey(command: Command, list: string): Command {
  return command.requiredOption('--key-id <id>', `key id from \`${list} list\``)
}

function withPassword(command: Command): Command {
  return command
    .option('--password [password]', 'ask for the password of the browser login; at least 10 characters')
    .option('--password-stdin', 'read the password from standard input')
}

function withOffset(command: Command): Command {
  return withLimit(command).option('--offset <count>', 'number of items to skip', wholeNumber)
}

function withCursor(command: Command): Command {
  return withLimit(command)
    .option('--after <cursor>', 'the `next` value from the previous page')
    .option('--created-after <time>', 'only items created after this ISO 8601 time')
    .option('--created-before <time>', 'only items created before this ISO 8601 time')
}
