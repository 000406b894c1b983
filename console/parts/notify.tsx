import { notifications } from '@mantine/notifications'
import { CheckIcon, Cross2Icon } from '@radix-ui/react-icons'
import { errorText } from './text/error-text.ts'

export function notifyDone(message: string): void {
  notifications.show({ message, color: 'green', icon: <CheckIcon aria-hidden />, withBorder: true })
}

export function notifyError(title: string, error: unknown): void {
  const message = errorText(error)
  notifications.show({ title, message, color: 'red', icon: <Cross2Icon aria-hidden />, autoClose: 10_000 })
}
