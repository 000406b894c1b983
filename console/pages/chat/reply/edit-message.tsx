import { Button, Group, Text, Textarea } from '@mantine/core'
import { useState, type KeyboardEvent } from 'react'
import classes from './exchange-view.module.css'

type EditMessageProps = { text: string; hasFiles: boolean; onSend: (text: string) => void; onCancel: () => void }

export function EditMessage({ hasFiles, onCancel, onSend, text: before }: EditMessageProps) {
  const [text, setText] = useState(before)
  const isReady = text.trim() !== '' || hasFiles
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
          Replaces this reply. You are charged for both replies.
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
