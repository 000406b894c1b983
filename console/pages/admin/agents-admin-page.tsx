import { Badge, Group, List, Skeleton, Stack, Text } from '@mantine/core'
import type { System } from '../../../client/client.ts'
import { useAccount } from '../../app/use-account.ts'
import { CodeBlock } from '../../parts/code/code-block.tsx'
import { CopyText } from '../../parts/copy-text.tsx'
import { DataTable, type Column } from '../../parts/data-table.tsx'
import { EmptyState } from '../../parts/empty-state.tsx'
import { KeyValueList } from '../../parts/key-value-list.tsx'
import { tokenRates } from '../../parts/text/token-rates.ts'
import { Money } from '../../parts/text/money.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { PageLink } from '../../parts/page-link.tsx'
import { Panel } from '../../parts/panel.tsx'
import { QueryState } from '../../parts/query-state.tsx'
import classes from './admin.module.css'
import { AdminsOnlyPage, isForAdminsOnly } from './admins-only-page.tsx'
import { agentInConfig } from './agent-in-config.ts'
import { useSystem } from './system/use-system.ts'

type Agent = System['agents'][number]
type Endpoint = Agent['endpoints'][number]

const kinds: Readonly<Record<Agent['kind'], string>> = {
  code: 'Code in this service',
  model: 'Language model',
  http: 'HTTP service',
}

export function AgentsAdminPage() {
  const system = useSystem()
  if (isForAdminsOnly(system.error)) return <AdminsOnlyPage />
  return (
    <>
      <PageHeader
        title="Agents"
        description="All agents in this service and their prices, including agents that only some users can see."
      />
      <Stack gap="lg">
        <QueryState
          query={system}
          isEmpty={({ agents }) => agents.length === 0}
          empty={
            <EmptyState title="No agents configured">
              Add an agent to errand.config.ts and restart the service.
            </EmptyState>
          }
          skeleton={<Skeleton height={480} />}
        >
          {({ agents }) => (
            <div className={classes.halves}>
              {agents.map((agent) => (
                <AgentPanel key={agent.id} agent={agent} />
              ))}
            </div>
          )}
        </QueryState>
        {system.data && <HowToChange agent={system.data.agents[0]} />}
      </Stack>
    </>
  )
}

function AgentPanel({ agent }: { agent: Agent }) {
  const { chatPricing, endpoints, id, kind, name, visibility } = agent
  const email = useAccount().data?.email
  const isVisible = visibility === 'public' || visibility.some((each) => each.toLowerCase() === email)
  return (
    <Panel
      title={name}
      actions={
        <Group gap="xs">
          <Badge
            variant="light"
            color={visibility === 'public' ? 'brand' : 'yellow'}
            tt="none"
            fw={500}
            size="lg"
            fz="sm"
          >
            {visibility === 'public' ? 'Public' : people(visibility.length)}
          </Badge>
          {isVisible && (
            <PageLink href={`/agents/${encodeURIComponent(id)}`} aria-label={`Open ${name}`}>
              Open
            </PageLink>
          )}
        </Group>
      }
    >
      <Stack gap="md">
        <KeyValueList
          rows={[
            ['Agent ID', <CopyText key="id" value={id} what={`ID of ${name}`} />],
            ['Kind', kinds[kind]],
            ['Visible to', visibility === 'public' ? 'All users' : <Named key="to" emails={visibility} />],
          ]}
        />
        {endpoints.length > 0 && (
          <DataTable
            caption={`Endpoints of ${name}`}
            columns={endpointColumns}
            rows={endpoints}
            rowKey={(endpoint) => endpoint.id}
          />
        )}
        {chatPricing && <ChatRates rates={chatPricing} name={name} />}
      </Stack>
    </Panel>
  )
}

function people(count: number): string {
  if (count === 0) return 'No users'
  return count === 1 ? '1 user only' : `${count} users only`
}

function Named({ emails }: { emails: readonly string[] }) {
  if (emails.length === 0) return 'No users'
  return (
    <List listStyleType="none" spacing={2}>
      {emails.map((email) => (
        <List.Item key={email}>
          <PageLink href={`/admin/users?search=${encodeURIComponent(email)}`}>{email}</PageLink>
        </List.Item>
      ))}
    </List>
  )
}

const endpointColumns: Column<Endpoint>[] = [
  { id: 'endpoint', label: 'Endpoint', cell: ({ id }) => <CopyText value={id} what={`ID ${id}`} /> },
  { id: 'price', label: 'Price per task', align: 'right', cell: ({ priceUsd }) => <Money usd={priceUsd} isExact /> },
]

const perMillion = 'per million tokens'
type Rate = { what: string; usd: string; unit: string }

function ChatRates({ name, rates }: { rates: NonNullable<Agent['chatPricing']>; name: string }) {
  const { longContext } = rates
  const rows: Rate[] = [
    ...tokenRates(rates).map(([what, usd]) => ({ what, usd, unit: perMillion })),
    ...(longContext ? tokenRates(longContext) : []).map(([what, usd]) => ({
      what: `${what}, prompts over ${longContext!.aboveTokens.toLocaleString('en')} tokens`,
      usd,
      unit: perMillion,
    })),
    { what: 'Tool call', usd: rates.toolCallUsd, unit: 'each' },
  ]
  return (
    <DataTable
      caption={`Chat rates of ${name}`}
      columns={[
        { id: 'what', label: 'Chat', phone: 'title', cell: ({ what }) => what },
        { id: 'unit', label: 'Unit', phone: 'line', cell: ({ unit }) => unit },
        { id: 'rate', label: 'Rate', align: 'right', phone: 'aside', cell: ({ usd }) => <Money usd={usd} isExact /> },
      ]}
      rows={rows}
      rowKey={({ what }) => what}
    />
  )
}

function HowToChange({ agent }: { agent: Agent | undefined }) {
  return (
    <Panel title="Change agents and prices">
      <Stack gap="sm">
        <Text maw={720} style={{ textWrap: 'pretty' }}>
          Agents, prices and visibility are set in <code>errand.config.ts</code>. Edit the file, then restart the
          service. Running tasks are given time to finish. New prices apply to tasks created and messages sent after the
          restart.
        </Text>
        {agent && (
          <CodeBlock code={agentInConfig(agent)} label={`${agent.name} in errand.config.ts`} what="configuration" />
        )}
      </Stack>
    </Panel>
  )
}
