import { Box, Button, Group, Text, Title } from '@mantine/core'
import { PlusIcon } from '@radix-ui/react-icons'
import { useEffect, useRef } from 'react'
import { PageLink } from '../../../parts/page-link.tsx'
import { QueryState } from '../../../parts/query-state.tsx'
import { RouterLink } from '../../../parts/router-link.tsx'
import { SearchBox } from '../../../parts/search-box.tsx'
import { TimeText } from '../../../parts/text/time-text.tsx'
import classes from '../conversation.module.css'
import { nameOf, searchCharsMax, titleOf, useAllAgents, useListSearch, useSessionList } from './session-list.ts'

/**
 * Scroll position of the list. It survives the remount of the page for each session, so that the list does not jump.
 */
let scrolledTo = 0

/** The session list next to the conversation. Shows the page of the list that the user came from. */
export function SessionSidebar({ openId }: { openId: string }) {
  const { query } = useSessionList()
  const search = useListSearch()
  return (
    <nav className={classes.sidebar} aria-label="Chats">
      <Group justify="space-between" mb="sm" wrap="nowrap">
        <Title order={2}>Chats</Title>
        <Button component={RouterLink} href="/chat?new=yes" size="xs" leftSection={<PlusIcon aria-hidden />}>
          New chat
        </Button>
      </Group>
      <Box mb="xs">
        <SearchBox label="Search chats" maxLength={searchCharsMax} />
      </Box>
      <QueryState
        query={query}
        isEmpty={({ sessions }) => sessions.length === 0}
        empty={
          <Text c="dimmed" size="sm" px={10}>
            No matching chats.
          </Text>
        }
      >
        {({ sessions }) => <Rows sessions={sessions} openId={openId} search={search} />}
      </QueryState>
      <PageLink href={`/chat${search}`} size="sm" mt="xs" px={10}>
        All chats{search && ' in this list'}
      </PageLink>
    </nav>
  )
}

type RowsProps = {
  sessions: NonNullable<ReturnType<typeof useSessionList>['query']['data']>['sessions']
  openId: string
  search: string
}

function Rows({ openId, search, sessions }: RowsProps) {
  const { data: agents } = useAllAgents()
  const list = useRef<HTMLUListElement>(null)
  useEffect(() => {
    if (list.current) list.current.scrollTop = scrolledTo
  }, [])
  return (
    <ul className={classes.rows} ref={list} onScroll={({ currentTarget }) => (scrolledTo = currentTarget.scrollTop)}>
      {sessions.map((session) => (
        <li key={session.id}>
          <RouterLink
            href={`/chat/${session.id}${search}`}
            className={classes.row}
            aria-current={session.id === openId ? 'page' : undefined}
          >
            <span className={classes.rowTitle}>
              {session.isReplying && <span className={classes.dot} role="img" aria-label="Replying" />}
              {titleOf(session)}
            </span>
            <span className={classes.rowAbout}>
              <span className={classes.rowAgent}>{nameOf(session.agentId, agents)}</span>
              <span aria-hidden>·</span>
              {session.status === 'active' ? (
                <TimeText at={session.updatedAt} />
              ) : (
                <span>{session.status === 'expired' ? 'Expired' : 'Ended'}</span>
              )}
            </span>
          </RouterLink>
        </li>
      ))}
    </ul>
  )
}
