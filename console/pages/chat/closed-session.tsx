import { Button, Group, Text, Textarea } from '@mantine/core'
import type { Session } from '../../../client/client.ts'
import { CopyButton } from '../../parts/copy-button.tsx'
import { ErrorNotice } from '../../parts/error-notice.tsx'
import { useDraft } from './transcript/chat-drafts.ts'
import classes from './conversation.module.css'
import { connectorIdsOf } from './compose/session-connector-ids.ts'
import { useCreateSession } from './compose/use-create-session.ts'

/** Replaces the composer of a session that accepts no more messages. */
export function ClosedSession({ session }: { session: Session }) {
  const { text } = useDraft(session.id)
  const create = useCreateSession(text)
  const connectorIds = connectorIdsOf(session)
  const { agentId, status } = session
  return (
    <div className={classes.closed}>
      {create.error && <ErrorNotice title="Could not start the chat" error={create.error} />}
      {text.trim() !== '' && (
        <Group gap="xs" mb="sm" align="flex-end" wrap="nowrap">
          <Textarea
            label="Unsent message"
            description="It is copied to the message box of a new chat."
            readOnly
            rows={3}
            flex={1}
            value={text}
          />
          <CopyButton value={text} what="unsent message" />
        </Group>
      )}
      <Group justify="space-between" gap="xs">
        <Text c="dimmed" maw={360}>
          {status === 'expired'
            ? 'This chat expired after a long time without messages. Start a new chat to continue.'
            : 'This chat has ended. Start a new chat to continue.'}
        </Text>
        <Button
          size="sm"
          loading={create.isPending}
          onClick={() => create.mutate({ agentId, ...(connectorIds.length > 0 && { connectorIds }) })}
        >
          Start new chat
        </Button>
      </Group>
    </div>
  )
}
