import { Box, Drawer, Paper } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useLocation, useSearchParams } from 'wouter'
import { ErrandClientError } from '../../../client/client.ts'
import { client } from '../../app/api-client.ts'
import { EmptyState } from '../../parts/empty-state.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { PageLink } from '../../parts/page-link.tsx'
import { QueryState } from '../../parts/query-state.tsx'
import classes from './conversation.module.css'
import { ConversationView } from './conversation-view.tsx'
import { SessionDetails } from './session-details.tsx'
import { SessionHeader } from './session-header.tsx'
import { useListSearch } from './list/session-list.ts'
import { SessionSidebar } from './list/session-sidebar.tsx'
import { sessionOptions } from './transcript/transcript.ts'

/** Shows one session: next to the list on wide screens, alone on phones. */
export function Conversation({ sessionId }: { sessionId: string }) {
  const [params] = useSearchParams()
  const [, navigate] = useLocation()
  const search = useListSearch()
  const session = useQuery(sessionOptions(sessionId))
  const agentId = session.data?.agentId
  const agent = useQuery({
    queryKey: ['agent', agentId],
    queryFn: ({ signal }) => client.agents.get({ agentId: agentId! }, { signal }),
    enabled: agentId !== undefined,
    staleTime: 60_000,
  })
  const areDetailsOpen = params.get('view') === 'details'
  const isMissing = session.error instanceof ErrandClientError && session.error.status === 404
  const back = { href: `/chat${search}`, label: 'All chats' }

  return (
    <div className={classes.frame}>
      <SessionSidebar openId={sessionId} />
      <div className={classes.main}>
        {isMissing ? (
          <>
            <PageHeader title="Chat not found" back={back} />
            <EmptyState title="No chat with this ID">
              It was deleted, or belongs to another account.{' '}
              <PageLink href="/chat" inherit underline="always">
                View your chats
              </PageLink>
              .
            </EmptyState>
          </>
        ) : (
          <>
            <Box className={classes.head}>
              <SessionHeader back={back} session={session.data} agent={agent.data} search={search} />
            </Box>
            <QueryState query={session}>
              {(data) => (
                <>
                  <Paper withBorder className={classes.conversation}>
                    <ConversationView session={data} agent={agent.data} />
                  </Paper>
                  <Drawer
                    opened={areDetailsOpen}
                    onClose={() => navigate(`/chat/${sessionId}${search}`)}
                    title="Chat details"
                    position="right"
                    size="lg"
                  >
                    <SessionDetails session={data} agent={agent.data} />
                  </Drawer>
                </>
              )}
            </QueryState>
          </>
        )}
      </div>
    </div>
  )
}
