import { receiptCost, unitsOfUsd, type ChatReceipt } from './chat-cost.ts'
import { simPricing } from './sim-agents.ts'
import type { Checks } from './sim-checks.ts'
import type { BilledCall, SimProvider } from './sim-provider.ts'
import type { SeenRows } from './row-audit.ts'

/** How far what turns are asked for is beyond the provider's bill for them, or below it, in units. */
type Difference = { turns: number; over: number; under: number }

/** What models' chats came to, in units: what the provider asks for them, and where that money is. */
export type ModelMoney = {
  turns: number
  /** Of turns that are paid for. */
  billed: number
  charged: number
  writtenOff: number
  /** Of turns that ended in a call that was not counted: nobody knows what it came to. */
  left: Difference
  /** Of those that came to their end without a count, which is estimated. */
  uncounted: Difference
  /** What the provider asks for turns that it or the service failed, which are free. */
  free: number
  freeTurns: number
}

/** A message that was sent to a model. */
type SentMessage = {
  n: number
  turnId: string | null
  /** Whether its provider is to fail, so that it is free. */
  mayFail: boolean
  /** Whether each call is read to its end, however the reply ends. */
  isReadOn: boolean
}

const dayUnitsMin = 400_000
const rates = { ...simPricing }
const none = { promptTokens: 0, cachedPromptTokens: 0, completionTokens: 0, reasoningTokens: 0, toolCalls: 0 }

/** Compares the provider's own bill with the ledger, turn by turn. */
export class BillAudit {
  readonly #provider: SimProvider
  readonly #checks: Checks
  readonly #sent: SentMessage[] = []
  /** Turns that the service itself has broken off. */
  readonly #interrupted = new Set<string>()

  constructor(provider: SimProvider, checks: Checks) {
    this.#provider = provider
    this.#checks = checks
  }

  sent(n: number, of: Omit<SentMessage, 'n'>): void {
    this.#sent.push({ n, ...of })
  }

  interrupted(turnId: string): void {
    this.#interrupted.add(turnId)
  }

  /** Checks every turn that is settled, and sums them up. */
  check({ turnMoney, turns }: SeenRows): ModelMoney {
    const checks = this.#checks
    const difference = (): Difference => ({ turns: 0, over: 0, under: 0 })
    const [left, uncounted] = [difference(), difference()]
    const money: ModelMoney = {
      turns: 0,
      billed: 0,
      charged: 0,
      writtenOff: 0,
      free: 0,
      freeTurns: 0,
      left,
      uncounted,
    }
    checks.same(this.#provider.faults, [], 'what the provider did not expect')
    /** Sessions for which the provider has reported cached tokens. */
    const cachedIn = new Set<string>()
    for (const { isReadOn, mayFail, n, turnId } of this.#sent) {
      const calls = this.#provider.callsOf(n)
      if (turnId === null) {
        checks.same(calls.length, 0, `calls of a model for the refused message ${n}`)
        continue
      }
      const turn = turns.get(turnId)
      // It is under way, or gone with a backup that was restored.
      if (turn?.outcome === undefined || turn.outcome === null) continue
      const { session_id: sessionId } = turn
      const told = calls.reduce((sum, { cachedPromptTokens, isTold }) => sum + (isTold ? cachedPromptTokens : 0), 0)
      if (told > 0) cachedIn.add(sessionId)
      money.turns++
      const what = `${turnId}, message ${n}, which ${turn.outcome}`
      const charge = turnMoney.get(turnId)
      const receipt = charge && (JSON.parse(charge.breakdown!) as ChatReceipt)
      const toolCalls = receipt?.toolCalls ?? 0
      const bill = costOf(calls, { toolCalls, carriedBeforeUsd: receipt?.carriedBeforeUsd })
      if (!receipt) {
        checks.that(bill === 0 || mayFail || this.#interrupted.has(turnId), `${what}, is free and was billed ${bill}`)
        if (bill === 0) continue
        money.free += bill
        money.freeTurns++
        continue
      }
      const writtenOff = unitsOfUsd(receipt.writtenOffUsd ?? '0')
      const charged = -charge.amount
      const used = receiptCost({ ...receipt, rates })
      checks.same(charged + writtenOff, used, `charged and written off of ${what}`)
      const untold = calls.filter(({ isTold }) => !isTold)
      checks.that(
        !isReadOn || untold.length === 0,
        `${what}, has ${untold.length} calls that were not read to their end`,
      )
      const isCut = turn.outcome === 'truncated'
      // What was told just when its reader left may have come too late.
      const unknown = isCut && !isReadOn ? [...untold, ...calls.slice(-1)] : untold
      const most = Math.max(0, ...unknown.map(estimateOf))
      // An estimate prices a prompt as cached if the provider has cached the session before; it may not have done so again.
      const promptTokens = Math.max(0, receipt.cachedPromptTokens - told)
      checks.that(promptTokens === 0 || cachedIn.has(sessionId), `${what}, was priced as cached without a report of it`)
      const asCached = receiptCost({ ...none, promptTokens, cachedPromptTokens: promptTokens, rates })
      const notCached = receiptCost({ ...none, promptTokens, rates }) - asCached
      const isBounded = calls.every(isWithinBounds)
      checks.that(writtenOff === 0 || !isBounded, () => `${writtenOff} of ${what}, are written off of what was held`)
      checks.that(
        used - bill <= most && bill - used <= most + notCached,
        () => `${what}: ${used} are asked for it and ${bill} by the provider, ${JSON.stringify({ receipt, calls })}`,
      )
      money.billed += bill
      money.charged += charged
      money.writtenOff += writtenOff
      if (used === bill && untold.length === 0) continue
      const of = isCut ? left : uncounted
      of.turns++
      if (used > bill) of.over += used - bill
      else of.under += bill - used
    }
    return money
  }
}

/**
 * Checks that what is asked for on a hostile day differs from the provider's bill by under 1 %, without the calls that
 * somebody left before they were counted. Their reasoning is hidden and their tokens are not those of o200k.
 */
export function checkDay(checks: Checks, { billed, uncounted }: ModelMoney): void {
  // A few turns are no day.
  if (billed < dayUnitsMin) return
  const percent = billed / 100
  checks.that(uncounted.under < percent, `${uncounted.under} of ${billed} are not asked for`)
  const apart = Math.abs(uncounted.over - uncounted.under)
  checks.that(apart < percent, `what is asked for without those who left is ${apart} apart from ${billed}`)
}

type Besides = { toolCalls: number; carriedBeforeUsd: string | undefined }

/** What these calls cost at the rates that users pay, with so many calls of tools and what was carried to them. */
function costOf(calls: readonly BilledCall[], { carriedBeforeUsd = '0', toolCalls }: Besides): number {
  const sum = { ...none, toolCalls, carriedBeforeUsd }
  for (const call of calls) {
    sum.promptTokens += call.promptTokens
    sum.cachedPromptTokens += call.cachedPromptTokens
    sum.completionTokens += call.completionTokens
    sum.reasoningTokens += call.reasoningTokens
  }
  return receiptCost({ ...sum, rates })
}

function isWithinBounds(call: BilledCall): boolean {
  return call.completionTokens <= call.completionTokensMax && call.promptTokens <= call.promptTokensMax
}

/** How far the charge of a call that is not reported may be off: by what the two count apart, or by all of it. */
function estimateOf(call: BilledCall): number {
  const { completionTokens, completionTokensMax, promptTokensMax, slackTokens } = call
  if (slackTokens !== null) {
    const slack = { promptTokens: slackTokens, completionTokens: slackTokens, reasoningTokens: slackTokens }
    return receiptCost({ ...none, ...slack, rates }) + 1
  }
  const written = Math.max(completionTokens, completionTokensMax)
  const of = { ...none, promptTokens: promptTokensMax, completionTokens: written, reasoningTokens: written }
  return receiptCost({ ...of, rates }) + 1
}
