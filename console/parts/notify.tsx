import { notifications } from '@mantine/notifications'
import { CheckIcon, Cross2Icon } from '@radix-ui/react-icons'
import { errorText } from './text/error-text.ts'

/** Shows a success message for a few seconds. */
export function notifyDone(message: string): void {
  notifications.show({ message, color: 'green', icon: <CheckIcon aria-hidden />, withBorder: true })
}

/** Shows an error that belongs to no form or page. */
export function notifyError(title: string, error: unknown): void {
  const message = errorText(error)
  notifications.show({ title, message, color: 'red', icon: <Cross2Icon aria-hidden />, autoClose: 10_000 })
}
