import type { Transaction } from '../../../client/client.ts'
import { subtractUsd, sumUsd } from '../../parts/text/usd-units.ts'
import { readChatReceipt, type ChatReceipt } from './chat-receipt.ts'

export type Receipt = {
  charge: Transaction
  refund: Transaction | undefined
  /** Of a chat: how its price came about. */
  chat: ChatReceipt | undefined
  chargedUsd: string
  refundedUsd: string
  paidUsd: string
  /** As of the newest of its transactions. */
  balanceAfterUsd: string
  isEstimated: boolean
}

/** What the transactions of one task or one chat come to; undefined when nothing was charged. */
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

/** The receipt as a file: figures and the transactions behind them, as the API gives them. */
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
