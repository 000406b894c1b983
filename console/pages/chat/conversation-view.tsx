import { Button, Center, Skeleton, Stack, Text, Title, VisuallyHidden } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useEffect, useState, useSyncExternalStore } from 'react'
import type { Agent, Message, Session } from '../../../client/client.ts'
import { ErrorNotice } from '../../parts/error-notice.tsx'
import { PageLink } from '../../parts/page-link.tsx'
import { QueryState } from '../../parts/query-state.tsx'
import { ClosedSession } from './closed-session.tsx'
import { Composer } from './compose/composer.tsx'
import { draftOf } from './transcript/chat-drafts.ts'
import classes from './conversation.module.css'
import { ChatPrices } from '../agents/chat-prices.tsx'
import { NotInPlan } from '../agents/not-in-plan.tsx'
import { costSoFar } from './reply/cost-so-far.ts'
import { ExchangeView } from './reply/exchange-view.tsx'
import { exchangesOf } from './transcript/exchanges.ts'
import { liveChatOf } from './transcript/live-chat.ts'
import { isUnderWay, type LiveState } from './transcript/live-exchange.ts'
import { replacedBy } from './transcript/sent-message.ts'
import { MessageScroll } from './message-scroll.tsx'
import { RefusalNotice } from './reply/refusal-notice.tsx'
import { useSessionCosts } from './transcript/session-costs.ts'
import { renewSession } from './list/session-news.ts'
import { readEarlier, transcriptOptions, type Transcript } from './transcript/transcript.ts'

type ConversationViewProps = { session: Session; agent: Agent | undefined }

export function ConversationView({ agent, session }: ConversationViewProps) {
  const { id: sessionId, status } = session
  const agentName = agent?.name ?? session.agentId
  const live = liveChatOf(sessionId)
  const state = useSyncExternalStore(live.subscribe, live.getState)
  const transcript = useQuery(transcriptOptions(sessionId))
  const { exchange, refusal } = state
  const isBusy = isUnderWay(exchange)
  const isLoaded = transcript.data !== undefined
  useEffect(() => {
    if (isLoaded) void live.recover()
  }, [isLoaded, live])
  const reload = () => {
    live.dismiss()
    renewSession(sessionId)
  }

  return (
    <>
      <VisuallyHidden role="status" aria-live="polite">
        {state.announcement || (isBusy ? `${agentName} is replying.` : '')}
      </VisuallyHidden>
      <QueryState
        query={transcript}
        skeleton={
          <Stack p="md" gap="md">
            <Skeleton height={40} width="50%" ml="auto" />
            <Skeleton height={90} />
          </Stack>
        }
      >
        {(data) => <Messages data={data} session={session} agent={agent} state={state} />}
      </QueryState>
      {!isLoaded && <div className={classes.filler} />}
      {refusal && (
        <div className={classes.notice}>
          <RefusalNotice refusal={refusal} sessionId={sessionId} onReload={reload} onDismiss={() => live.dismiss()} />
        </div>
      )}
      {status === 'active' && agent && !agent.inPlan && !isBusy ? (
        <div className={classes.closed}>
          <NotInPlan agent={agent} />
        </div>
      ) : status === 'active' ? (
        <Composer
          sessionId={sessionId}
          agentName={agentName}
          chat={agent?.chat}
          lastMessage={exchange?.message ?? transcript.data?.messages.findLast(({ role }) => role === 'user')?.content}
          isLoaded={isLoaded}
          isBusy={isBusy}
          canStop={exchange?.phase === 'sending' || exchange?.phase === 'streaming'}
          onSend={(message, files) => void live.send(message, draftOf(sessionId).params, { files })}
          onStop={() => live.stop()}
        />
      ) : (
        <ClosedSession session={session} agent={agent} />
      )}
    </>
  )
}

type MessagesProps = ConversationViewProps & { data: Transcript; state: LiveState }

function Messages({ agent, data, session, state }: MessagesProps) {
  const { extras, exchange } = state
  const agentName = agent?.name ?? session.agentId
  const costs = useSessionCosts(session.id).data
  const stored = exchangesOf(data)
  const isLiveShown = exchange !== undefined && !stored.some(({ turnId }) => turnId === exchange.turnId)
  const isBusy = isUnderWay(exchange)
  const replaced = new Set(stored.flatMap(({ message }) => message?.replaces ?? []))
  if (isBusy && exchange?.replaces !== undefined) replaced.add(exchange.replaces)
  const shown = stored.filter(({ turnId }) => !replaced.has(turnId))
  const onReplace = (message: Message, text: string) =>
    void liveChatOf(session.id).send(text, draftOf(session.id).params, { replaced: replacedBy(message, text) })
  const mayReplace = session.status === 'active' && !isBusy
  return (
    <MessageScroll
      label="Messages"
      firstKey={stored[0]?.turnId}
      sentKey={exchange?.phase === 'sending' ? exchange.key : undefined}
    >
      <VisuallyHidden>
        <Title order={2}>Messages</Title>
      </VisuallyHidden>
      <Earlier sessionId={session.id} from={data.from} />
      {session.continues !== undefined && data.from === 0 && (
        <Text size="sm" c="dimmed" ta="center" mb="md">
          Continues{' '}
          <PageLink href={`/chat/${session.continues}`} inherit underline="always">
            an earlier chat
          </PageLink>
          . The agent knows its messages unless it was deleted.
        </Text>
      )}
      {stored.length === 0 && !isLiveShown && <FirstMessage agent={agent} status={session.status} />}
      <ol className={classes.messages}>
        {shown.map((one) => {
          const own = extras.get(one.turnId)
          return (
            <ExchangeView
              key={own?.key ?? one.turnId}
              agentName={agentName}
              sessionId={session.id}
              stored={one}
              extras={own}
              charge={costs?.byTurn.get(one.turnId)}
              onReplace={mayReplace && one === stored.at(-1) ? onReplace : undefined}
            />
          )
        })}
        {isLiveShown && (
          <ExchangeView
            key={exchange.key}
            agentName={agentName}
            sessionId={session.id}
            live={exchange}
            costSoFar={agent?.chat && isBusy ? costSoFar({ ...agent.chat, earlier: shown, exchange }) : undefined}
          />
        )}
      </ol>
    </MessageScroll>
  )
}

function Earlier({ from, sessionId }: { from: number; sessionId: string }) {
  const [said, setSaid] = useState('')
  const load = useMutation({
    mutationFn: () => readEarlier(sessionId),
    onSuccess: () => setSaid('Earlier messages loaded.'),
  })
  return (
    <>
      <VisuallyHidden role="status">{said}</VisuallyHidden>
      {load.error && <ErrorNotice error={load.error} onRetry={() => load.mutate()} />}
      {from > 0 && (
        <Center mb="md">
          <Button size="xs" variant="default" loading={load.isPending} onClick={() => load.mutate()}>
            Show earlier messages ({from.toLocaleString('en')})
          </Button>
        </Center>
      )}
    </>
  )
}

function FirstMessage({ agent, status }: { agent: Agent | undefined; status: Session['status'] }) {
  return (
    <Stack gap={4} align="center" ta="center" py="xl" maw={460} mx="auto">
      <Text fw={600} size="lg">
        {status === 'active' ? 'Write the first message' : 'No messages'}
      </Text>
      {agent && (
        <Text component="div" c="dimmed">
          {agent.description}
          {agent.chat && status === 'active' && (
            <Center mt="sm">
              <ChatPrices chat={agent.chat} />
            </Center>
          )}
        </Text>
      )}
    </Stack>
  )
}
