import { Box, Group, Paper, Skeleton, Stack, Text, Title } from '@mantine/core'
import type { Agent } from '../../../client/client.ts'
import { PageCode } from '../../parts/code/page-code.tsx'
import { Snippets } from '../../parts/code/snippets.tsx'
import { EmptyState } from '../../parts/empty-state.tsx'
import { EndpointPrice } from './endpoint-price.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { PageLink } from '../../parts/page-link.tsx'
import { QueryState } from '../../parts/query-state.tsx'
import { SearchBox } from '../../parts/search-box.tsx'
import { useSearchField } from '../../parts/hooks/use-search-field.ts'
import { useAllAgents } from '../chat/list/session-list.ts'
import { agentPath } from './agent-path.ts'
import classes from './agent.module.css'
import { ChatPrices } from './chat-prices.tsx'
import { NotInPlan } from './not-in-plan.tsx'
import { OpenChatButton } from './open-chat-button.tsx'

/** Above this number of agents, the page has a search box. */
const unsearchedMax = 8

export function AgentsPage() {
  const agents = useAllAgents()
  const [search] = useSearchField('search')
  return (
    <>
      <PageHeader
        title="Agents"
        description="Run an endpoint as a task, or start a chat. Prices are shown up front. Failed tasks are refunded in full."
      />
      <Stack gap="lg">
        <QueryState
          query={agents}
          isEmpty={(all) => all.length === 0}
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
          {(all) => {
            const found = all.filter((agent) => textOf(agent).includes(search.toLowerCase()))
            return (
              <>
                {(all.length > unsearchedMax || search !== '') && <SearchBox label="Search agents" />}
                {found.length === 0 ? (
                  <EmptyState title={`No agents match “${search}”`}>Try a different search.</EmptyState>
                ) : (
                  <ul className={classes.cards} aria-label="Agents">
                    {found.map((agent) => (
                      <li key={agent.id}>
                        <AgentCard agent={agent} />
                      </li>
                    ))}
                  </ul>
                )}
              </>
            )
          }}
        </QueryState>
        <PageCode>
          <Snippets
            request={{ method: 'GET', path: '/api/agents?limit=100' }}
            call={{ method: 'agents.list', input: { limit: 100 }, result: 'page' }}
          />
        </PageCode>
      </Stack>
    </>
  )
}

function textOf({ description, endpoints, id, name }: Agent): string {
  const texts = endpoints.flatMap((endpoint) => [endpoint.id, endpoint.description])
  return [id, name, description, ...texts].join('\n').toLowerCase()
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
            <Text size="sm" c="dimmed" lineClamp={2} title={endpoint.description} className={classes.about ?? ''}>
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
