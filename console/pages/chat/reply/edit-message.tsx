import { Button, Group, Text, Textarea } from '@mantine/core'
import { useMemo, useState, type KeyboardEvent } from 'react'
import type { Message } from '../../../../client/client.ts'
import { useCostText } from '../compose/use-cost-text.ts'
import { useDraft } from '../transcript/chat-drafts.ts'
import { replacedBy } from '../transcript/sent-message.ts'
import classes from './exchange-view.module.css'

type EditMessageProps = {
  sessionId: string
  message: Message
  onSend: (text: string) => void
  onCancel: () => void
}

export function EditMessage({ message, onCancel, onSend, sessionId }: EditMessageProps) {
  const [text, setText] = useState(message.content)
  const { params } = useDraft(sessionId)
  const stored = useMemo(() => replacedBy(message, message.content).files, [message])
  const draft = useMemo(() => ({ text, files: [], params, stored }), [params, stored, text])
  const isReady = text.trim() !== '' || stored.length > 0
  const costText = useCostText({ sessionId, replaces: message.turnId }, draft, isReady)
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
          Replaces this reply. You are charged for both replies. {costText}
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
