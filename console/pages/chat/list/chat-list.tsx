import { Button, Group, Select, Stack } from '@mantine/core'
import { PlusIcon } from '@radix-ui/react-icons'
import type { SessionListItem } from '../../../../client/client.ts'
import { PageCode } from '../../../parts/code/page-code.tsx'
import { Snippets } from '../../../parts/code/snippets.tsx'
import { DataTable, type Column } from '../../../parts/data-table.tsx'
import { EmptyState } from '../../../parts/empty-state.tsx'
import { PageHeader } from '../../../parts/page-header.tsx'
import { PageLink } from '../../../parts/page-link.tsx'
import { Pager } from '../../../parts/pager.tsx'
import { QueryState } from '../../../parts/query-state.tsx'
import { RouterLink } from '../../../parts/router-link.tsx'
import { SearchBox } from '../../../parts/search-box.tsx'
import { TimeText } from '../../../parts/text/time-text.tsx'
import { useOffset, useSearchField } from '../../../parts/hooks/use-search-field.ts'
import classes from './chat-list.module.css'
import { SessionBadge } from './session-badge.tsx'
import { nameOf, searchCharsMax, titleOf, useAllAgents, useListSearch, useSessionList } from './session-list.ts'
import { countText } from '../../../parts/text/count-text.ts'

export function ChatList() {
  const { input, query } = useSessionList()
  const [, setOffset] = useOffset()
  const [agentId] = useSearchField('agentId')
  const isFiltered = input.status !== undefined || agentId !== '' || input.search !== undefined
  const newHref = agentId === '' ? '/chat?new=yes' : `/chat?new=yes&agentId=${encodeURIComponent(agentId)}`
  const newButton = (
    <Button component={RouterLink} href={newHref} size="sm" leftSection={<PlusIcon aria-hidden />}>
      New chat
    </Button>
  )
  const path = `/api/sessions?${new URLSearchParams(Object.entries(input).map(([name, value]) => [name, String(value)]))}`
  return (
    <>
      <PageHeader
        title="Chat"
        description="Conversations with agents. Starting a chat is free; messages are charged by usage."
        actions={newButton}
      />
      <Stack gap="lg">
        <div>
          <Filters />
          <QueryState
            query={query}
            isEmpty={({ total }) => total === 0}
            empty={<NoChats isFiltered={isFiltered} action={newButton} />}
          >
            {({ sessions, total, limit, offset }) => (
              <>
                <SessionTable sessions={sessions} />
                <Pager total={total} limit={limit} offset={offset} onChange={setOffset} what="chats" />
              </>
            )}
          </QueryState>
        </div>
        <PageCode>
          <Snippets request={{ method: 'GET', path }} call={{ method: 'sessions.list', input, result: 'page' }} />
        </PageCode>
      </Stack>
    </>
  )
}

function Filters() {
  const [status, setStatus] = useSearchField('status')
  const [agentId, setAgentId] = useSearchField('agentId')
  const { data: agents = [] } = useAllAgents()
  const options = agents.filter(({ chat }) => chat !== null).map(({ id, name }) => ({ value: id, label: name }))
  // A session may outlive its agent.
  if (agentId !== '' && !options.some(({ value }) => value === agentId))
    options.push({ value: agentId, label: agentId })
  return (
    <Group gap="sm" mb="sm" align="flex-end">
      <SearchBox label="Search titles" maxLength={searchCharsMax} />
      <Select
        label="Status"
        className={classes.filter}
        size="sm"
        clearable
        placeholder="All"
        data={[
          { value: 'active', label: 'Active' },
          { value: 'completed', label: 'Ended' },
          { value: 'expired', label: 'Expired' },
        ]}
        clearButtonProps={{ 'aria-label': 'All statuses' }}
        value={status || null}
        onChange={(value) => setStatus(value ?? '')}
      />
      <Select
        label="Agent"
        className={classes.filter}
        size="sm"
        clearable
        searchable
        placeholder="All"
        nothingFoundMessage="No matching agent"
        data={options}
        clearButtonProps={{ 'aria-label': 'All agents' }}
        value={agentId || null}
        onChange={(value) => setAgentId(value ?? '')}
      />
    </Group>
  )
}

function SessionTable({ sessions }: { sessions: readonly SessionListItem[] }) {
  const { data: agents } = useAllAgents()
  const search = useListSearch()
  const columns: Column<SessionListItem>[] = [
    {
      id: 'chat',
      label: 'Title',
      phone: 'title',
      cell: (session) => (
        <PageLink href={`/chat/${session.id}${search}`} className={classes.title} lineClamp={1}>
          {titleOf(session)}
        </PageLink>
      ),
    },
    { id: 'agent', label: 'Agent', phone: 'line', cell: ({ agentId }) => nameOf(agentId, agents) },
    { id: 'status', label: 'Status', phone: 'aside', cell: (session) => <SessionBadge {...session} /> },
    {
      id: 'messages',
      label: 'Messages',
      align: 'right',
      phone: 'hidden',
      cell: ({ messageCount }) => countText(messageCount),
    },
    {
      id: 'used',
      label: 'Last used',
      align: 'right',
      phone: 'end',
      cell: ({ updatedAt }) => <TimeText at={updatedAt} />,
    },
  ]
  return <DataTable caption="Chats" columns={columns} rows={sessions} rowKey={({ id }) => id} />
}

function NoChats({ action, isFiltered }: { isFiltered: boolean; action: React.ReactNode }) {
  if (isFiltered) {
    return (
      <EmptyState
        title="No matching chats"
        action={
          <Button component={RouterLink} href="/chat" variant="default" size="sm">
            Show all chats
          </Button>
        }
      >
        Change or clear the filters.
      </EmptyState>
    )
  }
  return (
    <EmptyState title="No chats yet" action={action}>
      Choose an agent, see its prices and send a message. Your conversations appear here with the cost of each reply.
    </EmptyState>
  )
}
