import { Group, Stack, Text } from '@mantine/core'
import type { Agent, Session } from '../../../client/client.ts'
import { client } from '../../app/api-client.ts'
import { queryClient } from '../../app/query-client.ts'
import { ConfirmButton } from '../../parts/confirm-button.tsx'
import { CopyText } from '../../parts/copy-text.tsx'
import { DownloadButton } from '../../parts/download/download-button.tsx'
import { JsonTree } from '../../parts/json-tree.tsx'
import { KeyValueList } from '../../parts/key-value-list.tsx'
import { notifyDone } from '../../parts/notify.tsx'
import { PageLink } from '../../parts/page-link.tsx'
import { Panel } from '../../parts/panel.tsx'
import { TimeText } from '../../parts/text/time-text.tsx'
import { forgetSession } from './transcript/chat-drafts.ts'
import { ChatPrices } from '../agents/chat-prices.tsx'
import { ConnectorsButton, SessionConnectors } from './chat-connectors.tsx'
import { chatMarkdown } from './chat-markdown.ts'
import { CapButton, SessionCap } from './session-cap.tsx'
import { SessionTotal } from './session-header.tsx'
import { goTo } from '../../app/service-url.ts'

type SessionDetailsProps = { session: Session; agent: Agent | undefined }

export function SessionDetails({ agent, session }: SessionDetailsProps) {
  const { agentId, createdAt, id, messageCount, metadata, updatedAt } = session
  return (
    <Stack gap="md">
      <Panel title="Chat">
        <KeyValueList
          rows={[
            ['Session ID', <CopyText key="id" value={id} what="session ID" />],
            [
              'Agent',
              <PageLink key="agent" href={`/agents/${encodeURIComponent(agentId)}`}>
                {agent?.name ?? agentId}
              </PageLink>,
            ],
            ['Price', agent?.chat && <ChatPrices key="price" chat={agent.chat} />],
            ['Messages', messageCount.toLocaleString('en')],
            ['Cost', <SessionTotal key="cost" sessionId={id} />],
            ['Cap', <SessionCap key="cap" session={session} />],
            ['Created', <TimeText key="started" at={createdAt} isExact />],
            ['Last activity', <TimeText key="last" at={updatedAt} isExact />],
            ['Connectors', <SessionConnectors key="connectors" session={session} />],
            [
              'Tags',
              session.tags &&
                Object.entries(session.tags)
                  .map(([name, value]) => `${name}: ${value}`)
                  .join(', '),
            ],
          ]}
        />
        <Group gap="xs" mt="sm">
          {session.status === 'active' && <CapButton sessionId={id} />}
          {session.status === 'active' && agent?.chat?.takesConnectors && <ConnectorsButton session={session} />}
          <DownloadButton
            label="Download as Markdown"
            fileName={`${id}.md`}
            content={() => chatMarkdown(session, agent?.name ?? agentId)}
          />
        </Group>
      </Panel>
      <Panel title="Metadata">
        {Object.keys(metadata).length === 0 ? (
          <Text c="dimmed">No metadata. Set it with updateSession in the API.</Text>
        ) : (
          <JsonTree value={metadata} what="metadata" />
        )}
      </Panel>
      <EndPanel session={session} />
    </Stack>
  )
}

function EndPanel({ session: { id: sessionId, status } }: { session: Session }) {
  const complete = async () => {
    const session = await client.sessions.update({ sessionId, status: 'completed' })
    queryClient.setQueryData(['session', sessionId], session)
    await queryClient.invalidateQueries({ queryKey: ['sessions'] })
    notifyDone('Chat ended.')
  }
  const remove = async () => {
    await client.sessions.delete({ sessionId })
    forgetSession(sessionId)
    goTo('/chat', { replace: true })
    for (const name of ['session', 'messages']) queryClient.removeQueries({ queryKey: [name, sessionId] })
    await queryClient.invalidateQueries({ queryKey: ['sessions'] })
    notifyDone('Chat deleted.')
  }
  return (
    <Panel title={status === 'active' ? 'End or delete' : 'Delete'}>
      <Text c="dimmed" mb="sm">
        {status === 'active' && 'You can still read a chat after it has ended. '}Deleting a chat removes its messages
        permanently, but keeps its transactions.
      </Text>
      <Group gap="xs">
        {status === 'active' && (
          <ConfirmButton label="End chat" title="End this chat?" confirmLabel="End chat" onConfirm={complete}>
            The chat stops accepting messages, here and through the API. A reply in progress finishes first. This cannot
            be undone.
          </ConfirmButton>
        )}
        <ConfirmButton
          label="Delete chat"
          title="Delete this chat?"
          confirmLabel="Delete chat"
          onConfirm={remove}
          buttonProps={{ color: 'red', variant: 'light' }}
        >
          All messages in it are deleted. A reply in progress is stopped and charged for its usage. This cannot be
          undone.
        </ConfirmButton>
      </Group>
    </Panel>
  )
}
