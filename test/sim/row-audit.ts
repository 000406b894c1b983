import type { AccountRow, AuditReader, TaskRow, TopupRow, TransactionRow, TurnRow, WindowRow } from './audit-rows.ts'
import { billionthsOf, carriedOn, exactCost, receiptCost, unitsOfUsd, type ChatReceipt } from './chat-cost.ts'
import type { Checks } from './sim-checks.ts'
import { simCost } from './sim-agents.ts'

/** Rows seen so far. Kept across restarts to detect rows that disappear or change. */
export type SeenRows = {
  transactions: TransactionRow[]
  sums: Map<string, number>
  /** Remainder that each account carries over, by user, in billionths of a USD. */
  carried: Map<string, bigint>
  taskMoney: Map<string, { charge?: TransactionRow; refund?: TransactionRow; back?: TransactionRow }>
  turnMoney: Map<string, TransactionRow>
  topupMoney: Map<string, TransactionRow>
  topups: Map<string, TopupRow>
  tasks: Map<string, TaskRow>
  openTasks: Set<string>
  turns: Map<string, TurnRow>
  openTurns: Set<string>
  executions: Map<string, number[]>
  /** Users whose tasks have lost their contents. */
  erased: Set<string>
  lastTask: number
  lastTurn: number
}

export type RowEvents = {
  transactions: TransactionRow[]
  newTasks: TaskRow[]
  endedTasks: TaskRow[]
  newTurns: TurnRow[]
  settledTurns: TurnRow[]
  openTurns: TurnRow[]
  accounts: AccountRow[]
  windows: WindowRow[]
  topups: TopupRow[]
}

const rateWindowMs = 60_000
const rateMax = 10
const inlineBytes = 16_384
const previewChars = 1024
const moves: Record<TaskRow['status'], readonly TaskRow['status'][]> = {
  pending: ['pending', 'processing', 'completed', 'failed'],
  processing: ['processing', 'completed', 'failed'],
  completed: ['completed'],
  failed: ['failed'],
}

export function nothingSeen(): SeenRows {
  return {
    transactions: [],
    sums: new Map(),
    carried: new Map(),
    taskMoney: new Map(),
    turnMoney: new Map(),
    topupMoney: new Map(),
    topups: new Map(),
    tasks: new Map(),
    openTasks: new Set(),
    turns: new Map(),
    openTurns: new Set(),
    executions: new Map(),
    erased: new Set(),
    lastTask: 0,
    lastTurn: 0,
  }
}

/**
 * Reads new rows and checks all invariants that need only rows: of money, tasks, the rate window and payloads. It does
 * not know the requests; SimModel does.
 */
export class RowAudit {
  readonly reader: AuditReader
  readonly seen: SeenRows
  readonly #checks: Checks

  constructor(reader: AuditReader, seen: SeenRows, checks: Checks) {
    this.reader = reader
    this.seen = seen
    this.#checks = checks
  }

  /** Reads new and changed rows. `refreshing`: top-ups for which provider events were sent. */
  refresh(refreshing: readonly string[], { withRecharges }: { withRecharges: boolean }): RowEvents {
    const { reader, seen } = this
    const rows = reader.changes({
      transactionSeq: seen.transactions.at(-1)?.seq ?? 0,
      taskSeq: seen.lastTask,
      turnSeq: seen.lastTurn,
      openTasks: [...seen.openTasks],
      openTurns: [...seen.openTurns],
      topups: refreshing,
      withRecharges,
    })
    const { accounts, newTasks, newTurns, topups, transactions, windows } = rows
    for (const row of topups) seen.topups.set(row.id, row)
    for (const row of transactions) this.#addTransaction(row)
    const endedTasks = [...rows.oldTasks, ...newTasks].filter((row) => this.#addTask(row))
    const settledTurns = [...rows.oldTurns, ...newTurns].filter((row) => this.#addTurn(row))
    for (const row of [...newTasks, ...newTurns]) this.#addExecution(row)
    this.#checkAccounts(accounts)
    const kept = (row: TaskRow | undefined): row is TaskRow => row !== undefined
    const keptTurn = (row: TurnRow | undefined): row is TurnRow => row !== undefined
    return {
      accounts,
      transactions,
      newTasks,
      newTurns,
      windows,
      topups,
      openTurns: [...seen.openTurns].map((id) => seen.turns.get(id)!),
      endedTasks: endedTasks.filter(kept),
      settledTurns: settledTurns.filter(keptTurn),
    }
  }

  #addTransaction(row: TransactionRow): void {
    const { seen } = this
    const checks = this.#checks
    const sum = (seen.sums.get(row.user_id) ?? 0) + row.amount
    checks.same(row.balance_after, sum, `balanceAfter of ${row.id} is the running sum`)
    seen.sums.set(row.user_id, sum)
    seen.transactions.push(row)
    if (row.type === 'credit' && row.topup_id !== null) {
      checks.that(!seen.topupMoney.has(row.topup_id), `the top-up ${row.topup_id} is credited once`)
      seen.topupMoney.set(row.topup_id, row)
    }
    if (row.type === 'task_charge' || row.type === 'task_refund' || row.task_id !== null) {
      const taskId = checks.present(row.task_id, `${row.type} ${row.id} names a task`)
      const money = seen.taskMoney.get(taskId) ?? {}
      const kind = row.type === 'task_charge' ? 'charge' : row.type === 'task_refund' ? 'refund' : 'back'
      checks.that(kind !== 'back' || row.type === 'adjustment', `${row.id} of ${taskId} is an adjustment`)
      checks.that(money[kind] === undefined, `task ${taskId} has one ${kind}`)
      seen.taskMoney.set(taskId, { ...money, [kind]: row })
    }
    if (row.type === 'chat_charge') {
      const turnId = checks.present(row.turn_id, `${row.id} names a turn`)
      checks.that(!seen.turnMoney.has(turnId), `turn ${turnId} has one charge`)
      seen.turnMoney.set(turnId, row)
      const receipt = JSON.parse(row.breakdown!) as ChatReceipt
      const writtenOff = receipt.writtenOffUsd === undefined ? 0 : unitsOfUsd(receipt.writtenOffUsd)
      checks.same(
        writtenOff - row.amount,
        receiptCost(receipt),
        `the charge ${row.id} is one rounding of its components`,
      )
      const before = seen.carried.get(row.user_id) ?? 0n
      const after = carriedOn(receipt)
      checks.same(
        [receipt.exactUsd, receipt.carriedBeforeUsd, receipt.carriedAfterUsd].map(billionthsOf).map(String),
        [exactCost(receipt), before, after].map(String),
        `what ${row.id} says of its exact cost and what is carried`,
      )
      seen.carried.set(row.user_id, after)
    }
  }

  /** Adds a task's row. Returns true if the task has ended since the last audit. */
  #addTask(found: TaskRow | undefined): boolean {
    const { seen } = this
    const checks = this.#checks
    const row = checks.present(found, 'a task that was seen is still there')
    const before = seen.tasks.get(row.id)
    const { id, completed_at: completedAt, cost, created_at: createdAt, started_at: startedAt, status } = row
    if (before) {
      checks.that(moves[before.status].includes(status), `task ${id} moved from ${before.status} to ${status}`)
      checks.same(
        [row.user_id, cost + row.given_back, row.request, createdAt],
        [before.user_id, before.cost + before.given_back, before.request, before.created_at],
        `what was asked for of task ${id}`,
      )
      checks.that(row.attempt >= before.attempt, `the attempts of ${id} grow`)
    }
    const money = seen.taskMoney.get(id)
    checks.same(
      [money?.charge?.amount, money?.charge?.user_id],
      [-cost - row.given_back || 0, row.user_id],
      `the one charge of task ${id}`,
    )
    checks.same(money?.back?.amount ?? 0, row.given_back, `what was given back of task ${id}`)
    checks.that(
      row.given_back === 0 || status === 'completed',
      `task ${id}, of which some was given back, is completed`,
    )
    checks.same(
      money?.refund?.amount,
      status === 'failed' ? cost : undefined,
      `the refund of task ${id}, which is ${status}`,
    )
    checks.that(startedAt === null || startedAt >= createdAt, `task ${id} starts after its creation`)
    const hasCharged = row.usage !== null && row.usage !== '{}' && row.endpoint_id !== 'priced.write'
    checks.that(!hasCharged || row.cancelable_until !== null, `task ${id}, which charged events, cannot be canceled`)
    checks.that(
      row.error_code !== 'CANCELED' || row.cancelable_until === null,
      `task ${id}, which was canceled, could be`,
    )
    const mayEndUnbegun = ['CANCELED', 'EXPIRED', 'CONNECTORS_BLOCKED'].includes(row.error_code ?? '')
    const endsAfter = startedAt ?? (mayEndUnbegun ? createdAt : Infinity)
    checks.that(completedAt === null || completedAt >= endsAfter, `task ${id} ends after its start`)
    checks.same(row.response !== null, status === 'completed', `task ${id} has a response when completed`)
    checks.same(row.error_code !== null, status === 'failed', `task ${id} has an error when failed`)
    const hasEnded = status === 'completed' || status === 'failed'
    checks.same(completedAt !== null, hasEnded, `task ${id} has an end when it has ended`)
    if (!before) this.checkJson(row, 'request')
    if (hasEnded && row.response !== null) this.checkJson(row, 'response')
    seen.tasks.set(id, row)
    seen.lastTask = Math.max(seen.lastTask, row.seq)
    if (hasEnded) seen.openTasks.delete(id)
    else seen.openTasks.add(id)
    return hasEnded
  }

  /** Checks that JSON of more than 16 KB is stored in a file, and other JSON inline. */
  checkJson(row: TaskRow, field: 'request' | 'response'): void {
    const checks = this.#checks
    const [text, payloadId] =
      field === 'request' ? [row.request, row.request_payload] : [row.response!, row.response_payload]
    const what = `the ${field} of ${row.id}`
    if (payloadId === null) {
      checks.that(Buffer.byteLength(text) <= inlineBytes, `${what} is inline and has at most ${inlineBytes} bytes`)
      return
    }
    const whole = checks.present(this.reader.payload(payloadId), `${what} is stored`)
    checks.that(whole.length > inlineBytes, `${what} is stored apart and has more than ${inlineBytes} bytes`)
    const json: unknown = JSON.parse(whole.toString())
    const shown = typeof json === 'string' ? json : whole.toString()
    checks.that(text.isWellFormed() && !text.includes('\uFFFD'), `the preview of ${what} is valid Unicode`)
    checks.same(text, firstCharacters(shown, previewChars), `the preview of ${what}`)
    checks.same(this.reader.taskOfPayload(payloadId), row.id, `the row of the payload of ${what}`)
  }

  #addTurn(found: TurnRow | undefined): boolean {
    const { seen } = this
    const checks = this.#checks
    const row = checks.present(found, 'a turn that was seen is still there')
    const { cost, id, outcome, settled_at: settledAt } = row
    const charge = seen.turnMoney.get(id)
    const isCharged = outcome !== null && (outcome !== 'failed' || (cost ?? 0) > 0)
    checks.same(charge !== undefined, isCharged, `turn ${id}, ${outcome ?? 'open'}, has a charge`)
    if (charge)
      checks.same(
        [charge.amount, charge.user_id, charge.session_id],
        [-cost! || 0, row.user_id, row.session_id],
        `the charge of turn ${id}`,
      )
    const providerCost = row.provider_cost
    if (charge && providerCost !== null) {
      const receipt = JSON.parse(charge.breakdown!) as ChatReceipt
      checks.same(providerCost, Number(exactCost({ ...receipt, rates: simCost })), `what turn ${id} cost the operator`)
    }
    checks.same(settledAt === null, outcome === null, `turn ${id} is settled when it has an outcome`)
    checks.that(settledAt === null || row.held === 0, `a settled turn holds nothing`)
    const most = row.max_cost ?? Infinity
    checks.that(row.held <= most && (cost ?? 0) <= most, `turn ${id} holds ${row.held} and costs ${cost}, of ${most}`)
    seen.turns.set(id, row)
    seen.lastTurn = Math.max(seen.lastTurn, row.seq)
    if (settledAt === null) seen.openTurns.add(id)
    else seen.openTurns.delete(id)
    return settledAt !== null
  }

  #addExecution({ created_at: at, user_id: userId }: { user_id: string; created_at: number }): void {
    const times = this.seen.executions.get(userId) ?? []
    times.push(at)
    this.seen.executions.set(userId, times)
    const inWindow = times.filter((time) => time > at - rateWindowMs && time <= at).length
    this.#checks.that(inWindow <= rateMax, `${inWindow} executions of ${userId} in 60 s`)
    // The clock never runs backwards, so older times can no longer be in a window.
    if (times.length > 200) this.seen.executions.set(userId, times.slice(-100))
  }

  #checkAccounts(accounts: readonly AccountRow[]): void {
    const held = new Map<string, number>()
    for (const id of this.seen.openTurns) {
      const turn = this.seen.turns.get(id)!
      held.set(turn.user_id, (held.get(turn.user_id) ?? 0) + turn.held)
    }
    for (const account of accounts) {
      const id = account.user_id
      this.#checks.same(
        account.balance,
        this.seen.sums.get(id) ?? 0,
        `the balance of ${id} is the sum of its transactions`,
      )
      this.#checks.that(account.held >= 0 && account.held <= account.balance, `0 ≤ held ≤ balance of ${id}`)
      this.#checks.same(account.carried, Number(this.seen.carried.get(id) ?? 0n), `what ${id} carries`)
      this.#checks.same(account.held, held.get(id) ?? 0, `what ${id} holds is what its open turns hold`)
    }
  }

  /** Rereads all rows. Checks that rows seen before are unchanged and that every session's messages are complete. */
  checkAll(): void {
    const { reader, seen } = this
    const checks = this.#checks
    const { orphanMessages, tasks, topups, transactions, turns } = reader.everything()
    const seenTransactions = seen.transactions.toSorted((a, b) => a.seq - b.seq)
    checks.same(JSON.stringify(transactions), JSON.stringify(seenTransactions), 'transactions are append-only')
    for (const row of topups) {
      const before = seen.topups.get(row.id)
      // The service closes checkouts that stay unpaid for a long time.
      const mayClose = row.is_auto === 0 && (before?.status === undefined || before.status === 'open')
      const status = mayClose ? ['open', 'expired'] : [before?.status]
      checks.that(status.includes(row.status), `the top-up ${row.id} is ${row.status}, without an event of that`)
      checks.same([row.refunded, row.disputed], [before?.refunded ?? 0, before?.disputed ?? 0], `top-up ${row.id}`)
    }
    for (const row of tasks) {
      const before = checks.present(seen.tasks.get(row.id), `task ${row.id} was seen`)
      const shown = seen.erased.has(row.user_id) ? keptOf : (task: TaskRow) => task
      if (before.completed_at !== null) checks.same(shown(row), shown(before), `the ended task ${row.id}`)
    }
    for (const row of turns) checks.same(row, seen.turns.get(row.id), `turn ${row.id}`)
    checks.same([tasks.length, turns.length], [seen.tasks.size, seen.turns.size], 'all tasks and turns are there')
    const spent = new Map<string, number>()
    for (const { amount, session_id: id } of seen.turnMoney.values()) spent.set(id!, (spent.get(id!) ?? 0) - amount)
    for (const id of reader.sessionIds()) {
      this.checkSession(id)
      const { max_cost: most, open_turn_id: openTurn, spent: noted } = reader.session(id)!
      checks.same(noted, spent.get(id) ?? 0, `what ${id} has spent is the sum of its charges`)
      const held = openTurn === null ? 0 : (seen.turns.get(openTurn)?.held ?? 0)
      checks.that(noted + held <= (most ?? Infinity), `${id} has spent ${noted} and holds ${held}, of ${most}`)
    }
    checks.same(orphanMessages, 0, 'messages without a session')
    checks.same(reader.ledgerDifferences(), [], 'the ledger adds up')
  }

  /** Checks that `messageCount` is correct, exchanges are complete, and turns do not interleave. */
  checkSession(sessionId: string): void {
    const { messages, session } = this.reader.withMessages(sessionId)
    const checks = this.#checks
    checks.same(session?.message_count ?? 0, messages.length, `the messages of ${sessionId} are counted`)
    messages.forEach(({ role, turn_id: turnId }, at) => {
      checks.same(role, at % 2 === 0 ? 'user' : 'assistant', `the role of message ${at} of ${sessionId}`)
      checks.same(messages[at - (at % 2)]!.turn_id, turnId, `exchange ${at >> 1} of ${sessionId} is whole`)
    })
    checks.same(new Set(messages.map((message) => message.turn_id)).size, messages.length / 2, `turns of ${sessionId}`)
    const most = session?.max_cost ?? Infinity
    checks.that((session?.spent ?? 0) <= most, `${sessionId} has spent ${session?.spent}, of ${most}`)
    const open = session?.open_turn_id ?? null
    if (open !== null)
      checks.that(
        this.seen.openTurns.has(open) || !this.seen.turns.has(open),
        `${sessionId} names a settled turn as open`,
      )
  }

  /** Returns the amount written off for one user or for all, summed from the receipts. */
  writtenOff(userId?: string): number {
    let sum = 0
    for (const row of this.seen.turnMoney.values()) {
      if (userId !== undefined && row.user_id !== userId) continue
      sum += unitsOfUsd((JSON.parse(row.breakdown!) as ChatReceipt).writtenOffUsd ?? '0')
    }
    return sum
  }

  close(): void {
    this.reader.close()
  }
}

/** Returns the part of a task that an erasure leaves. */
function keptOf(row: TaskRow): Partial<TaskRow> {
  const { cost, error_code, given_back, id, status, usage, user_id } = row
  const { attempt, completed_at, counted_in, created_at, started_at } = row
  return {
    id,
    user_id,
    status,
    cost,
    given_back,
    usage,
    error_code,
    attempt,
    counted_in,
    created_at,
    started_at,
    completed_at,
  }
}

/** Returns the first `count` code points, which have one or two UTF-16 units each. */
export function firstCharacters(text: string, count: number): string {
  return Array.from(text.slice(0, count * 2))
    .slice(0, count)
    .join('')
}
