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
      {create.error && <ErrorNotice title="The chat was not started" error={create.error} />}
      {text.trim() !== '' && (
        <Group gap="xs" mb="sm" align="flex-end" wrap="nowrap">
          <Textarea
            label="Not sent"
            description="A new chat with this agent begins with it in its box."
            readOnly
            rows={3}
            flex={1}
            value={text}
          />
          <CopyButton value={text} what="what was not sent" />
        </Group>
      )}
      <Group justify="space-between" gap="xs">
        <Text c="dimmed" maw={360}>
          {status === 'expired'
            ? 'This session has expired, because nobody wrote for too long. It takes no more messages.'
            : 'This session is completed and takes no more messages.'}
        </Text>
        <Button
          size="sm"
          loading={create.isPending}
          onClick={() => create.mutate({ agentId, ...(connectorIds.length > 0 && { connectorIds }) })}
        >
          Start a new chat with this agent
        </Button>
      </Group>
    </div>
  )
}
