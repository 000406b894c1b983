import {
  ChatBubbleIcon,
  LightningBoltIcon,
  MixerHorizontalIcon,
  PlusCircledIcon,
  ResetIcon,
} from '@radix-ui/react-icons'
import type { Transaction } from '../../../client/client.ts'
import { IconBadge } from '../../parts/status-badge.tsx'

export type TransactionType = Transaction['type']

export const transactionTypes = {
  credit: { label: 'Credit', plural: 'Credits', Icon: PlusCircledIcon, color: 'green' },
  task_charge: { label: 'Task charge', plural: 'Task charges', Icon: LightningBoltIcon, color: 'gray' },
  task_refund: { label: 'Task refund', plural: 'Task refunds', Icon: ResetIcon, color: 'blue' },
  chat_charge: { label: 'Chat charge', plural: 'Chat charges', Icon: ChatBubbleIcon, color: 'gray' },
  adjustment: { label: 'Adjustment', plural: 'Adjustments', Icon: MixerHorizontalIcon, color: 'yellow' },
  topup_reversal: { label: 'Top-up reversal', plural: 'Top-up reversals', Icon: ResetIcon, color: 'yellow' },
} as const satisfies Record<TransactionType, unknown>

export function isTransactionType(text: string): text is TransactionType {
  return Object.hasOwn(transactionTypes, text)
}

export function TypeBadge({ transaction: { taskId, type } }: { transaction: Pick<Transaction, 'taskId' | 'type'> }) {
  const isUnused = type === 'adjustment' && taskId !== undefined
  return (
    <IconBadge {...transactionTypes[isUnused ? 'task_refund' : type]} {...(isUnused && { label: 'Unused part' })} />
  )
}
