import type { Task, Transaction } from '../../../client/client.ts'
import { subtractUsd, sumUsd } from '../../parts/text/usd-units.ts'
import { readChatReceipt, readTokenReceipt, type ChatReceipt } from './chat-receipt.ts'

export type Receipt = {
  charge: Transaction
  refund: Transaction | undefined
  returned: Transaction | undefined
  chat: ChatReceipt | undefined
  chargedUsd: string
  refundedUsd: string
  paidUsd: string
  balanceAfterUsd: string
  isEstimated: boolean
  model: string | undefined
}

/** Summarizes the transactions of one task or chat. Returns undefined if nothing was charged. */
export function readReceipt(transactions: readonly Transaction[], task?: Task): Receipt | undefined {
  const charge = transactions.find(({ type }) => type === 'task_charge' || type === 'chat_charge')
  if (!charge) return undefined
  const refund = transactions.find(({ type }) => type === 'task_refund')
  const returned = charge.type === 'task_charge' ? transactions.find(({ type }) => type === 'adjustment') : undefined
  const { amountUsd, breakdown } = charge
  const chargedUsd = subtractUsd('0.0000', amountUsd)
  const refundedUsd = refund?.amountUsd ?? '0.0000'
  const returnedUsd = returned?.amountUsd ?? '0.0000'
  return {
    charge,
    refund,
    returned,
    chat: breakdown ? readChatReceipt({ amountUsd, breakdown }) : task && readTokenReceipt(task),
    chargedUsd,
    refundedUsd,
    paidUsd: subtractUsd('0.0000', sumUsd([amountUsd, refundedUsd, returnedUsd])),
    balanceAfterUsd: (refund ?? returned ?? charge).balanceAfterUsd,
    isEstimated: (breakdown ?? task?.tokens)?.isEstimated === true,
    model: (breakdown ?? task?.tokens)?.model,
  }
}

/** Formats the receipt as a JSON file. Contains the amounts and the underlying transactions in the API's format. */
export function receiptJson(receipt: Receipt, email: string | undefined): string {
  const { balanceAfterUsd, charge, chargedUsd, chat, model, paidUsd, refund, refundedUsd, returned } = receipt
  const { description, sessionId, taskId, turnId } = charge
  const file = {
    description,
    ...(email !== undefined && { email }),
    ...(taskId !== undefined && { taskId }),
    ...(sessionId !== undefined && { sessionId }),
    ...(turnId !== undefined && { turnId }),
    currency: 'USD',
    ...(chat && {
      price: {
        components: chat.lines,
        exactUsd: chat.exactUsd,
        adjustments: chat.adjustments,
        costUsd: chat.costUsd,
        ...(chat.writtenOffUsd !== undefined && { writtenOffUsd: chat.writtenOffUsd }),
        isEstimated: receipt.isEstimated,
        ...(model !== undefined && { model }),
      },
    }),
    chargedUsd,
    refundedUsd,
    ...(returned && { returnedUsd: returned.amountUsd }),
    paidUsd,
    balanceAfterUsd,
    transactions: [charge, refund, returned].filter((one) => one !== undefined),
  }
  return `${JSON.stringify(file, null, 2)}\n`
}
