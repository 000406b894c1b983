import { Text } from '@mantine/core'
import type { Agent, Session } from '../../../client/client.ts'
import { ErrorNotice } from '../../parts/error-notice.tsx'
import { Composer } from './compose/composer.tsx'
import classes from './conversation.module.css'
import { connectorIdsOf } from './compose/session-connector-ids.ts'
import { useStartChat } from './compose/use-start-chat.ts'

/** Composer of a session that accepts no more messages. The next message starts a new chat that continues it. */
export function ClosedSession({ agent, session }: { agent: Agent | undefined; session: Session }) {
  const { agentId, id, status } = session
  const start = useStartChat(id)
  const connectorIds = connectorIdsOf(session)
  const input = { agentId, continues: id, ...(connectorIds.length > 0 && { connectorIds }) }
  return (
    <>
      <div className={classes.closed}>
        {start.error && <ErrorNotice title="Could not start the chat" error={start.error} />}
        <Text c="dimmed">
          {status === 'expired' ? 'This chat expired because it was inactive for too long.' : 'This chat has ended.'}{' '}
          Your next message will start a new chat that continues this one.
        </Text>
      </div>
      <Composer
        sessionId={id}
        agentName={agent?.name ?? agentId}
        chat={agent?.chat}
        newSession={input}
        isLoaded
        isBusy={start.isPending}
        canStop={false}
        onSend={(message, files) => start.mutate({ input, message, files })}
        onStop={() => {}}
      />
    </>
  )
}
