import { Button, Group, Skeleton, Text } from '@mantine/core'
import { InfoCircledIcon } from '@radix-ui/react-icons'
import type { Agent, Session } from '../../../client/client.ts'
import { formatUsd } from '../../../server/kernel/money.ts'
import { PageCode } from '../../parts/code/page-code.tsx'
import { Money } from '../../parts/text/money.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { RouterLink } from '../../parts/router-link.tsx'
import { ChatSnippets } from './chat-snippets.tsx'
import classes from './conversation.module.css'
import { SessionBadge } from './list/session-badge.tsx'
import { SessionCap } from './session-cap.tsx'
import { RenameButton } from './session-title.tsx'
import { useSessionCosts } from './transcript/session-costs.ts'

type SessionHeaderProps = {
  back: { href: string; label: string }
  session: Session | undefined
  agent: Agent | undefined
  /** Query string of the list that the user came from. */
  search: string
}

export function SessionHeader({ agent, back, search, session }: SessionHeaderProps) {
  const path = `/chat/${session?.id ?? ''}`
  const agentName = agent?.name ?? session?.agentId ?? 'Chat'
  const detailsHref = `${path}${search ? `${search}&` : '?'}view=details`
  return (
    <>
      <PageHeader
        title={session?.title ?? agentName}
        back={back}
        description={
          session ? (
            <Group gap="xs" mt={2}>
              {session.status !== 'expired' && <RenameButton session={session} />}
              {session.title !== undefined && (
                <Text component="span" size="sm">
                  {agentName}
                </Text>
              )}
              <SessionBadge status={session.status} />
              {session.messageCount > 0 && (
                <Text component="span" size="sm" className="tabular">
                  {session.messageCount === 1 ? '1 message' : `${session.messageCount.toLocaleString('en')} messages`}
                </Text>
              )}
              <SessionTotal sessionId={session.id} label="Total " />
              {session.maxCostUsd !== undefined && (
                <Text component="span" size="sm">
                  Cap <SessionCap session={session} />
                </Text>
              )}
            </Group>
          ) : (
            <Skeleton height={26} width={220} mt={2} />
          )
        }
        actions={
          session && (
            <Button
              component={RouterLink}
              href={detailsHref}
              className={classes.toggle}
              size="xs"
              variant="default"
              leftSection={<InfoCircledIcon aria-hidden />}
            >
              Details
            </Button>
          )
        }
      />
      {session && (
        <PageCode>
          <ChatSnippets sessionId={session.id} />
        </PageCode>
      )}
    </>
  )
}

export function SessionTotal({ label = '', sessionId }: { sessionId: string; label?: string }) {
  const { data } = useSessionCosts(sessionId)
  if (!data) return null
  return (
    <Text component="span" size="sm">
      {data.isComplete ? label : `Newest ${data.byTurn.size.toLocaleString('en')} charges `}
      <Money usd={formatUsd(data.total)} isRounded fw={600} c="var(--mantine-color-text)" />
    </Text>
  )
}
