import { Button, Group, Text, Textarea } from '@mantine/core'
import { useState, type KeyboardEvent } from 'react'
import type { Message } from '../../../../client/client.ts'
import { useReplaceText } from '../compose/use-cost-text.ts'
import classes from './exchange-view.module.css'
import { filesOf } from './file-views.ts'

type EditMessageProps = {
  sessionId: string
  message: Message
  onSend: (text: string) => void
  onCancel: () => void
}

export function EditMessage({ message, onCancel, onSend, sessionId }: EditMessageProps) {
  const [text, setText] = useState(message.content)
  const isReady = text.trim() !== '' || filesOf(message).length > 0
  const replaceText = useReplaceText({ sessionId, message, text }, isReady)
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing || event.keyCode === 229) return
    if (event.key === 'Escape') onCancel()
    if (event.key !== 'Enter' || event.shiftKey) return
    event.preventDefault()
    if (isReady) onSend(text)
  }
  return (
    <form
      className={classes.edit}
      onSubmit={(event) => {
        event.preventDefault()
        if (isReady) onSend(text)
      }}
    >
      <Textarea
        aria-label="Edit message"
        autoFocus
        rows={3}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      <Group justify="space-between" gap="xs" mt={6}>
        <Text size="sm" c="dimmed">
          {replaceText}
        </Text>
        <Group gap="xs">
          <Button size="xs" variant="default" onClick={onCancel}>
            Cancel
          </Button>
          <Button size="xs" type="submit" disabled={!isReady}>
            Send
          </Button>
        </Group>
      </Group>
    </form>
  )
}
