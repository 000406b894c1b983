import { Alert, Anchor, Box, Group, Skeleton, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useParams } from 'wouter'
import { ErrandClientError, type Agent } from '../../../client/client.ts'
import { client } from '../../app/api-client.ts'
import { CopyText } from '../../parts/copy-text.tsx'
import { EmptyState } from '../../parts/empty-state.tsx'
import { EndpointPrice } from './endpoint-price.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { PageLink } from '../../parts/page-link.tsx'
import { Panel } from '../../parts/panel.tsx'
import { QueryState } from '../../parts/query-state.tsx'
import { PageCode } from '../../parts/code/page-code.tsx'
import { Snippets } from '../../parts/code/snippets.tsx'
import { RouterLink } from '../../parts/router-link.tsx'
import { useSearchField } from '../../parts/hooks/use-search-field.ts'
import { loadInput } from '../tasks/load-payload.ts'
import { agentPath } from './agent-path.ts'
import { AgentUsage } from './agent-usage.tsx'
import classes from './agent.module.css'
import { ChatPrices } from './chat-prices.tsx'
import { useConnectors } from './connector-picker.tsx'
import { NotInPlan } from './not-in-plan.tsx'
import { OpenChatButton } from './open-chat-button.tsx'
import { RunPanel } from './run-panel.tsx'

type Endpoint = Agent['endpoints'][number]

export function AgentPage() {
  const { agentId } = useParams<{ agentId: string }>()
  const agent = useQuery({
    queryKey: ['agent', agentId],
    queryFn: ({ signal }) => client.agents.get({ agentId }, { signal }),
  })
  useConnectors()
  const isMissing = agent.error instanceof ErrandClientError && agent.error.status === 404
  return (
    <>
      <PageHeader
        title={agent.data?.name ?? (isMissing ? 'Agent not found' : 'Agent')}
        description={agent.data?.description}
        back={{ href: '/agents', label: 'Agents' }}
        actions={
          agent.data?.chat && agent.data.inPlan && <OpenChatButton agentId={agentId} agentName={agent.data.name} />
        }
      />
      {isMissing ? (
        <EmptyState
          title="You do not have access to this agent"
          action={<PageLink href="/agents">View all agents</PageLink>}
        >
          It may have been removed, or it may be visible only to other accounts.
        </EmptyState>
      ) : (
        <QueryState query={agent} skeleton={<Skeleton height={320} />}>
          {(data) => <AgentContent agent={data} />}
        </QueryState>
      )}
    </>
  )
}

function AgentContent({ agent }: { agent: Agent }) {
  const [endpointId] = useSearchField('endpoint')
  const [from, setFrom] = useSearchField('from')
  const { chat, endpoints } = agent
  const named = endpoints.find(({ id }) => id === endpointId)
  const endpoint = named ?? endpoints[0]
  return (
    <Stack gap="lg">
      {endpointId !== '' && !named && (
        <Alert color="yellow" title={`Endpoint ${endpointId} not found`}>
          It may have been renamed or removed.
        </Alert>
      )}
      {endpoint ? (
        <div className={endpoints.length > 1 ? classes.layout : undefined}>
          {endpoints.length > 1 && <EndpointNav agent={agent} open={endpoint} />}
          <EndpointContent
            key={`${endpoint.id} ${from}`}
            agent={agent}
            endpoint={endpoint}
            from={from}
            onStartOver={() => setFrom('')}
          />
        </div>
      ) : (
        <EmptyState title="Chat only">This agent does not run tasks. Start a chat to use it.</EmptyState>
      )}
      {chat && !endpoint && (
        <PageCode>
          <Snippets
            request={{ method: 'POST', path: '/api/sessions', body: { agentId: agent.id } }}
            call={{ method: 'sessions.create', input: { agentId: agent.id }, result: 'session' }}
          />
        </PageCode>
      )}
      {chat && (
        <Panel title="Chat" actions={agent.inPlan && <OpenChatButton agentId={agent.id} agentName={agent.name} />}>
          <Stack gap={4}>
            <ChatPrices chat={chat} />
            <Text size="sm" c="dimmed">
              Up to {chat.maxOutputTokens.toLocaleString('en')} tokens per reply,{' '}
              {chat.contextTokens.toLocaleString('en')} for messages and history.
            </Text>
          </Stack>
        </Panel>
      )}
      <AgentUsage agent={agent} />
    </Stack>
  )
}

function EndpointNav({ agent, open }: { agent: Agent; open: Endpoint }) {
  return (
    <nav aria-label="Endpoints" className={classes.endpoints}>
      {agent.endpoints.map(({ id, name, priceUsd, pricing }) => (
        <RouterLink
          key={id}
          href={agentPath(agent.id, id)}
          className={classes.endpoint}
          aria-current={id === open.id ? 'page' : undefined}
        >
          <span className={classes.name}>{name}</span>
          <Text component="span" size="sm" c="dimmed" fw={400}>
            <EndpointPrice endpoint={{ priceUsd, pricing }} />
          </Text>
        </RouterLink>
      ))}
    </nav>
  )
}

type EndpointContentProps = { agent: Agent; endpoint: Endpoint; from: string; onStartOver: () => void }

function EndpointContent({ agent, endpoint, from, onStartOver }: EndpointContentProps) {
  const earlier = useQuery({
    queryKey: ['task-input', from],
    queryFn: ({ signal }) => loadInput(from, signal),
    enabled: from !== '',
    // A task's input never changes.
    staleTime: Infinity,
  })
  return (
    <Stack gap="lg" miw={0}>
      <Box>
        <CopyText value={endpoint.id} what="endpoint ID" />
        <Text mt={4} maw={720}>
          {endpoint.description}
        </Text>
      </Box>
      {!agent.inPlan ? (
        <NotInPlan agent={agent} />
      ) : from === '' ? (
        <RunPanel endpoint={endpoint} start={undefined} draftName={endpoint.id} />
      ) : (
        <QueryState query={earlier} skeleton={<Skeleton height={260} />}>
          {({ connectorIds, params, tags }) => (
            <RunPanel
              endpoint={endpoint}
              start={params}
              connectorIds={connectorIds}
              tags={tags}
              draftName={`${endpoint.id} ${from}`}
              note={
                <Group gap={6} mb="md">
                  <Text size="sm" c="dimmed">
                    Prefilled from{' '}
                    <PageLink href={`/tasks/${encodeURIComponent(from)}`} underline="always">
                      an earlier task
                    </PageLink>
                    .
                  </Text>
                  <Anchor component="button" type="button" size="sm" onClick={onStartOver}>
                    Start over
                  </Anchor>
                </Group>
              }
            />
          )}
        </QueryState>
      )}
    </Stack>
  )
}
