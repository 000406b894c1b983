import { Box, Group, Paper, Skeleton, Stack, Text, Title } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import type { Agent } from '../../../client/client.ts'
import { client } from '../../app/api-client.ts'
import { PageCode } from '../../parts/code/page-code.tsx'
import { Snippets } from '../../parts/code/snippets.tsx'
import { EmptyState } from '../../parts/empty-state.tsx'
import { EndpointPrice } from './endpoint-price.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { PageLink } from '../../parts/page-link.tsx'
import { Pager } from '../../parts/pager.tsx'
import { QueryState } from '../../parts/query-state.tsx'
import { useOffset } from '../../parts/hooks/use-search-field.ts'
import { agentPath } from './agent-path.ts'
import classes from './agent.module.css'
import { ChatPrices } from './chat-prices.tsx'
import { NotInPlan } from './not-in-plan.tsx'
import { OpenChatButton } from './open-chat-button.tsx'

const limit = 24

export function AgentsPage() {
  const [offset, setOffset] = useOffset()
  const input = offset === 0 ? { limit } : { limit, offset }
  const agents = useQuery({
    queryKey: ['agents', input],
    queryFn: ({ signal }) => client.agents.list(input, { signal }),
    placeholderData: keepPreviousData,
  })
  const query = new URLSearchParams(Object.entries(input).map(([name, value]) => [name, String(value)]))
  return (
    <>
      <PageHeader
        title="Agents"
        description="Run an endpoint as a task, or start a chat. Prices are shown up front. Failed tasks are refunded in full."
      />
      <Stack gap="lg">
        <QueryState
          query={agents}
          isEmpty={({ total }) => total === 0}
          empty={
            <EmptyState title="No agents available">
              Ask the operator of this service to make an agent visible to you.
            </EmptyState>
          }
          skeleton={
            <div className={classes.cards}>
              <Skeleton height={240} />
              <Skeleton height={240} />
            </div>
          }
        >
          {(page) => (
            <Box>
              <ul className={classes.cards} aria-label="Agents">
                {page.agents.map((agent) => (
                  <li key={agent.id}>
                    <AgentCard agent={agent} />
                  </li>
                ))}
              </ul>
              <Pager {...page} onChange={setOffset} what="agents" />
            </Box>
          )}
        </QueryState>
        <PageCode>
          <Snippets
            request={{ method: 'GET', path: `/api/agents?${query}` }}
            call={{ method: 'agents.list', input, result: 'page' }}
          />
        </PageCode>
      </Stack>
    </>
  )
}

function AgentCard({ agent }: { agent: Agent }) {
  return (
    <Paper withBorder p="md" className={classes.card ?? ''}>
      <Title order={2}>
        <PageLink href={agentPath(agent.id)} inherit>
          {agent.name}
        </PageLink>
      </Title>
      <Text c="dimmed" mt={2} mb="sm">
        {agent.description || 'No description'}
      </Text>
      {!agent.inPlan && <NotInPlan agent={agent} />}
      <ul className={classes.prices} aria-label={`What ${agent.name} can do`}>
        {agent.endpoints.map((endpoint) => (
          <li key={endpoint.id} className={classes.price}>
            <PageLink href={agentPath(agent.id, endpoint.id)} fw={500} className={classes.name ?? ''}>
              {endpoint.name}
            </PageLink>
            <span>
              <EndpointPrice endpoint={endpoint} />
            </span>
            <Text size="sm" c="dimmed" lineClamp={2} className={classes.about ?? ''}>
              {endpoint.description}
            </Text>
          </li>
        ))}
        {agent.chat && (
          <li className={classes.price}>
            <Group gap="xs" justify="space-between" style={{ gridColumn: '1 / -1' }}>
              <Box flex="1 1 220px">
                <Text fw={500}>Chat</Text>
                <ChatPrices chat={agent.chat} />
              </Box>
              {agent.inPlan && <OpenChatButton agentId={agent.id} agentName={agent.name} />}
            </Group>
          </li>
        )}
      </ul>
    </Paper>
  )
}
