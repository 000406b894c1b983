import { usdOfUnits } from './chat-cost.ts'
import type { TransactionRow } from './audit-rows.ts'
import type { ModelMoney } from './bill-audit.ts'
import type { SeenRows } from './row-audit.ts'

/** Money moved in the accounts, in units, by kind of transaction. */
type SimMoney = Record<
  'credited' | 'takenBack' | 'toppedUp' | 'reversed' | 'taskCharges' | 'taskRefunds' | 'givenBack' | 'chatCharges',
  number
>

export type SimReport = {
  engine: string
  nodes: number
  leftOut: string | null
  seed: number
  operations: Record<string, number>
  total: number
  refusals: Record<string, number>
  restarts: number
  crashes: number
  restores: number
  clockMoves: number
  people: number
  erased: number
  tasks: Record<string, number>
  turns: Record<string, number>
  money: SimMoney
  /** Null if the run ended before the totals were known. */
  models: ModelMoney | null
  /** Sum of all balances according to the model. */
  balances: number
  /** Number of times that a user went into debt. `owed` is the total debt at the end. */
  debts: number
  recharges: Record<string, number>
  owed: number
  checks: number
  seconds: number
  /** The violated invariant and the preceding steps; null if there was none. */
  violation: { what: string; atOperation: number; atStep: number; steps: string[] } | null
}

export function moneyOf(transactions: readonly TransactionRow[]): SimMoney {
  const none = { taskCharges: 0, taskRefunds: 0, givenBack: 0, chatCharges: 0 }
  const money: SimMoney = { credited: 0, takenBack: 0, toppedUp: 0, reversed: 0, ...none }
  for (const { amount, task_id: taskId, topup_id: topupId, type } of transactions) {
    if (type === 'topup_reversal') money.reversed -= amount
    else if (topupId !== null) money.toppedUp += amount
    else if (type === 'task_charge') money.taskCharges -= amount
    else if (type === 'task_refund') money.taskRefunds += amount
    else if (type === 'chat_charge') money.chatCharges -= amount
    else if (taskId !== null) money.givenBack += amount
    else if (amount > 0) money.credited += amount
    else money.takenBack -= amount
  }
  return money
}

export function endsOf({ tasks, turns }: SeenRows): Pick<SimReport, 'tasks' | 'turns'> {
  const count = (names: Iterable<string>) => {
    const counts: Record<string, number> = {}
    for (const name of names) counts[name] = (counts[name] ?? 0) + 1
    return counts
  }
  return {
    tasks: count([...tasks.values()].map(({ status }) => status)),
    turns: count([...turns.values()].map(({ outcome }) => outcome ?? 'open')),
  }
}

const plain = (count: number): string => count.toLocaleString('en')

const sumOf = (counts: Record<string, number>): number => Object.values(counts).reduce((sum, count) => sum + count, 0)

const counted = (counts: Record<string, number>): string =>
  Object.entries(counts)
    .toSorted(([, a], [, b]) => b - a)
    .map(([name, count]) => `${name} ${plain(count)}`)
    .join(', ')

/** Breaks lines between items and indents the continuation lines. */
function wrapped(label: string, text: string): string[] {
  const widthMax = 100
  const indent = 14
  const lines = ['']
  for (const item of text.split(/(?<=,) /)) {
    const last = lines.at(-1)!
    if (last !== '' && last.length + item.length + 1 > widthMax) lines.push(item)
    else lines[lines.length - 1] = last === '' ? item : `${last} ${item}`
  }
  return lines.map((line, nth) => `  ${(nth === 0 ? label : '').padEnd(indent)}${line}`)
}

/** Returns lines that compare the provider's bill for paid turns with the charges in the ledger. */
function modelLines(money: ModelMoney): string[] {
  const { billed, charged, free, freeTurns, left, turns, uncounted, writtenOff } = money
  const usd = (units: number) => `$${usdOfUnits(units)}`
  const share = (units: number) => `${usd(units)} (${((100 * units) / Math.max(1, billed)).toFixed(2)} %)`
  const apart = ({ over, turns: count, under }: ModelMoney['left']) =>
    `${share(over)} beyond and ${share(under)} below it of ${plain(count)} turns`
  return [
    ...wrapped(
      'models',
      `${plain(turns)} turns, ${usd(billed)} by the provider's bill, ${usd(charged)} charged, ${usd(writtenOff)} written off`,
    ),
    ...wrapped('', `apart from the bill by ${share(charged + writtenOff - billed)}:`),
    ...wrapped('', `${apart(left)} that were left in a call`),
    ...wrapped('', `${apart(uncounted)} whose provider did not count`),
    ...wrapped('', `besides ${usd(free)} of the bill for ${plain(freeTurns)} turns that failed and are free`),
  ]
}

/** Returns the human-readable report. `repeat`: command that repeats the run. */
export function reportLines(report: SimReport, repeat: string): string[] {
  const { checks, clockMoves, crashes, money, restarts, restores, seconds, seed, total, violation } = report
  const { chatCharges, credited, givenBack, reversed, takenBack, taskCharges, taskRefunds, toppedUp } = money
  const left = credited - takenBack + toppedUp - reversed - taskCharges + taskRefunds + givenBack - chatCharges
  const stops = restarts - crashes - restores
  const usd = (units: number) => `$${usdOfUnits(units)}`
  const on = report.nodes === 1 ? report.engine : `${report.nodes} nodes on ${report.engine}`
  const verdict = violation ? '1 VIOLATION' : '0 violations'
  return [
    `seed ${seed}, ${on}: ${plain(total)} operations in ${seconds.toFixed(1)} s, ${plain(checks)} checks, ${verdict}`,
    ...wrapped('operations', counted(report.operations)),
    ...(report.leftOut === null ? [] : wrapped('left out', report.leftOut)),
    ...wrapped('refused', `${counted(report.refusals)} (${plain(sumOf(report.refusals))} in all)`),
    ...wrapped('ended', `tasks: ${counted(report.tasks)}, chats: ${counted(report.turns)}`),
    ...wrapped(
      'interrupted',
      `${crashes} crashes, ${stops} stops and starts, ${restores} restored backups, ${clockMoves} times the clock was set`,
    ),
    ...wrapped(
      'money in',
      `${usd(credited)} credited to ${report.people} people and ${report.erased} erased ones, ${usd(toppedUp)} paid by them, recharges: ${counted(report.recharges)}`,
    ),
    ...wrapped(
      'money out',
      `${usd(takenBack)} taken back, ${usd(reversed)} of payments, which came to ${plain(report.debts)} debts, ${usd(taskCharges)} for tasks less ${usd(taskRefunds)} refunded and ${usd(givenBack)} given back, ${usd(chatCharges)} for chats`,
    ),
    ...wrapped(
      'money left',
      `${usd(left)} by the ledger, ${usd(report.balances)} by the accounts of the model, ${usd(report.owed)} owed`,
    ),
    ...(report.models === null ? [] : modelLines(report.models)),
    ...(violation
      ? [
          `VIOLATION at step ${violation.atStep}, after ${plain(violation.atOperation)} operations: ${violation.what}`,
          `The last steps before it:`,
          ...violation.steps.map((step) => `  ${step}`),
          `To repeat it: ${repeat}`,
        ]
      : []),
  ]
}
