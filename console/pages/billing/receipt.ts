import type { Transaction } from '../../../client/client.ts'
import { subtractUsd, sumUsd } from '../../parts/text/usd-units.ts'
import { readChatReceipt, type ChatReceipt } from './chat-receipt.ts'

export type Receipt = {
  charge: Transaction
  refund: Transaction | undefined
  chat: ChatReceipt | undefined
  chargedUsd: string
  refundedUsd: string
  paidUsd: string
  /** The balance after the newest of the transactions. */
  balanceAfterUsd: string
  isEstimated: boolean
}

/** Summarizes the transactions of one task or chat; undefined if nothing was charged. */
export function readReceipt(transactions: readonly Transaction[]): Receipt | undefined {
  const charge = transactions.find(({ type }) => type === 'task_charge' || type === 'chat_charge')
  if (!charge) return undefined
  const refund = transactions.find(({ type }) => type === 'task_refund')
  const { amountUsd, breakdown } = charge
  const chargedUsd = subtractUsd('0.0000', amountUsd)
  const refundedUsd = refund?.amountUsd ?? '0.0000'
  return {
    charge,
    refund,
    chat: breakdown && readChatReceipt({ amountUsd, breakdown }),
    chargedUsd,
    refundedUsd,
    paidUsd: subtractUsd('0.0000', sumUsd([amountUsd, refundedUsd])),
    balanceAfterUsd: (refund ?? charge).balanceAfterUsd,
    isEstimated: breakdown?.isEstimated === true,
  }
}

/** Formats the receipt as a JSON file, with the amounts and the underlying transactions in API format. */
export function receiptJson(receipt: Receipt, email: string | undefined): string {
  const { balanceAfterUsd, charge, chargedUsd, chat, paidUsd, refund, refundedUsd } = receipt
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
      },
    }),
    chargedUsd,
    refundedUsd,
    paidUsd,
    balanceAfterUsd,
    transactions: refund ? [charge, refund] : [charge],
  }
  return `${JSON.stringify(file, null, 2)}\n`
}
