// React components for products built on Errand. They are unstyled but have class names. In the browser, they need a
// client token.

export { AddCredit, type AddCreditProps } from './add-credit.tsx'
export { Balance, type BalanceProps } from './balance.tsx'
export { Chat, type ChatLabels, type ChatProps } from './chat.tsx'
export { ErrandProvider, useErrand, type ErrandProviderProps } from './errand-provider.tsx'
export { Receipt, type ReceiptProps } from './receipt.tsx'
export { useBalance, type BalanceState } from './use-balance.ts'
export { useChat, type ChatItem, type ChatState } from './use-chat.ts'
export { useTask, type TaskState } from './use-task.ts'
