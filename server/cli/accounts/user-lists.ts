import { ListTransactionsInput } from '../../account/account-schema.ts'
import * as transactions from '../../account/list-transactions.ts'
import * as admin from '../../admin/manage-users.ts'
import { ListUsersInput } from '../../admin/user-schema.ts'
import { ListTasksInput } from '../../tasks/task-schema.ts'
import * as tasks from '../../tasks/read-task.ts'
import { parseInput, type Common } from '../command-options.ts'
import { print } from '../open-store.ts'
import { findUserId, operator, withParts } from './operator.ts'

type Page = { total: number; offset: number; next?: string | undefined }

export async function listUsers(options: Common): Promise<void> {
  const input = parseInput(ListUsersInput, options)
  const page = await withParts(options, (parts) => admin.listUsers(parts, { caller: operator, input }))
  const lines = page.users.map((user) => {
    const suspended = user.isSuspended ? '  suspended' : ''
    return `${user.id}  ${user.externalId ?? user.email}  ${user.balanceUsd} USD${suspended}`
  })
  printPage(options, page, lines)
}

export async function listTasks(options: Common & { user: string }): Promise<void> {
  const input = parseInput(ListTasksInput, options)
  const page = await withParts(options, async (parts) =>
    tasks.listTasks(parts.store, { input, userId: await findUserId(parts, options) }),
  )
  const lines = page.tasks.map((task) => {
    const status = task.errorCode === undefined ? task.status : `${task.status} (${task.errorCode})`
    return `${task.id}  ${task.createdAt}  ${task.endpointId}  ${task.costUsd} USD  ${status}`
  })
  printPage(options, page, lines)
}

export async function listTransactions(options: Common & { user: string }): Promise<void> {
  const input = parseInput(ListTransactionsInput, options)
  const page = await withParts(options, async (parts) =>
    transactions.listTransactions(parts.store, { input, userId: await findUserId(parts, options) }),
  )
  const lines = page.transactions.map(
    ({ amountUsd, balanceAfterUsd, createdAt, description, id, type }) =>
      `${id}  ${createdAt}  ${type}  ${amountUsd} USD  ${balanceAfterUsd} USD  ${description}`,
  )
  printPage(options, page, lines)
}

export function printPage(options: Common & { after?: string }, page: Page, lines: readonly string[]): void {
  const seen = page.offset + lines.length
  const hasMore = options.after === undefined && lines.length > 0 && seen < page.total
  const byOffset = hasMore ? `--offset ${seen}` : undefined
  const next = page.next === undefined ? byOffset : `--after ${page.next}`
  const rest = next === undefined ? [] : [`${page.total} in all; next page: ${next}`]
  print(options, page, [...lines, ...rest].join('\n') || 'None.')
}
