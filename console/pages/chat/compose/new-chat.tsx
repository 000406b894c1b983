import { Alert, Box, Paper, Radio, Stack, Text, TextInput } from '@mantine/core'
import { LockClosedIcon } from '@radix-ui/react-icons'
import { useState } from 'react'
import type { Agent } from '../../../../client/client.ts'
import { PageCode } from '../../../parts/code/page-code.tsx'
import { Snippets } from '../../../parts/code/snippets.tsx'
import { Disclosure } from '../../../parts/disclosure.tsx'
import { EmptyState } from '../../../parts/empty-state.tsx'
import { fieldErrors } from '../../../parts/field-errors.ts'
import { PageHeader } from '../../../parts/page-header.tsx'
import { PageLink } from '../../../parts/page-link.tsx'
import { QueryState } from '../../../parts/query-state.tsx'
import { useSearchField } from '../../../parts/hooks/use-search-field.ts'
import { ChatPrices } from '../../agents/chat-prices.tsx'
import { useHowToUnlock } from '../../agents/not-in-plan.tsx'
import classes from './new-chat.module.css'
import { useAllAgents } from '../list/session-list.ts'
import { Composer } from './composer.tsx'
import { ConnectorChoice } from './connector-choice.tsx'
import { newChatId, useStartChat, type NewSession } from './use-start-chat.ts'

const searchedFrom = 7

function isOffered({ chat, inPlan }: Agent): boolean {
  return chat !== null && inPlan
}

export function NewChat() {
  const agents = useAllAgents()
  return (
    <>
      <PageHeader
        title="New chat"
        description="Starting a chat is free. A chat expires after a period of inactivity (24 hours by default)."
        back={{ href: '/chat', label: 'All chats' }}
      />
      <QueryState
        query={agents}
        isEmpty={(all) => !all.some(isOffered)}
        empty={
          <EmptyState title="No chat agents">
            No agent in your plan supports chat. You can run tasks instead:{' '}
            <PageLink href="/agents" inherit underline="always">
              view agents
            </PageLink>
            .
          </EmptyState>
        }
      >
        {(all) => <NewChatForm agents={all.filter(({ chat }) => chat !== null)} />}
      </QueryState>
    </>
  )
}

function NewChatForm({ agents }: { agents: readonly Agent[] }) {
  const [wanted, setWanted] = useSearchField('agentId')
  const [connectorIds, setConnectorIds] = useState<string[]>([])
  const [cap, setCap] = useState('')
  const start = useStartChat(newChatId)
  const agent = agents.find(({ id, inPlan }) => id === wanted && inPlan) ?? agents.find(isOffered)!
  const agentId = agent.id
  const takesConnectors = agent.chat?.takesConnectors === true
  const input: NewSession = {
    agentId,
    ...(takesConnectors && connectorIds.length > 0 && { connectorIds }),
    ...(cap.trim() !== '' && { maxCostUsd: cap.trim() }),
  }
  const { fields, rest } = fieldErrors(start.error, ['agentId', 'connectorIds', 'maxCostUsd'])
  return (
    <Stack gap="lg">
      <Stack gap="md" maw={680}>
        {rest !== undefined && (
          <Alert color="red" variant="light" title="Could not start the chat" role="alert">
            {rest}
          </Alert>
        )}
        <AgentChoice agents={agents} value={agentId} onChange={setWanted} error={fields['agentId']} />
        {takesConnectors && (
          <ConnectorChoice value={connectorIds} onChange={setConnectorIds} error={fields['connectorIds']} />
        )}
        <Disclosure label="Options" mustBeOpen={fields['maxCostUsd'] !== undefined}>
          {() => (
            <TextInput
              label="Cap in USD"
              description="Maximum total cost of this chat. You can raise it later."
              placeholder="No cap"
              inputMode="decimal"
              autoComplete="off"
              maw={320}
              value={cap}
              onChange={(event) => setCap(event.currentTarget.value)}
              error={fields['maxCostUsd']}
            />
          )}
        </Disclosure>
        <Paper withBorder className={classes.composer}>
          <Composer
            sessionId={newChatId}
            agentName={agent.name}
            chat={agent.chat}
            newSession={input}
            isLoaded
            isBusy={start.isPending}
            canStop={false}
            onSend={(message, files) => start.mutate({ input, message, files })}
            onStop={() => {}}
          />
        </Paper>
      </Stack>
      <PageCode>
        <Snippets
          request={{ method: 'POST', path: '/api/sessions', body: input }}
          call={{ method: 'sessions.create', input, result: 'session' }}
        />
      </PageCode>
    </Stack>
  )
}

type AgentChoiceProps = {
  agents: readonly Agent[]
  value: string
  onChange: (value: string) => void
  error: string | undefined
}

function AgentChoice({ agents, error, onChange, value }: AgentChoiceProps) {
  const [search, setSearch] = useState('')
  const words = search.toLowerCase().split(/\s+/)
  const shown = agents.filter(({ description, id, name }) => {
    const text = `${id} ${name} ${description}`.toLowerCase()
    return words.every((word) => text.includes(word))
  })
  return (
    <Stack gap="xs">
      {agents.length >= searchedFrom && (
        <TextInput
          label="Find an agent"
          type="search"
          value={search}
          onChange={(event) => setSearch(event.currentTarget.value)}
        />
      )}
      <Radio.Group label="Agent" value={value} onChange={onChange} error={error}>
        <Stack gap="xs" mt={4}>
          {shown.map((agent) => (
            <AgentOption key={agent.id} agent={agent} isChecked={agent.id === value} />
          ))}
        </Stack>
      </Radio.Group>
      {shown.length === 0 && <Text c="dimmed">No agents match.</Text>}
    </Stack>
  )
}

function AgentOption({ agent, isChecked }: { agent: Agent; isChecked: boolean }) {
  const { chat, description, id, inPlan, name } = agent
  const howToUnlock = useHowToUnlock(agent)
  return (
    <label className={classes.agent} data-checked={isChecked || undefined} data-locked={!inPlan || undefined}>
      <Radio
        value={id}
        disabled={!inPlan}
        aria-labelledby={`agent-name-${id}`}
        aria-describedby={`agent-about-${id}`}
        mt={2}
      />
      <div>
        <Text fw={600} id={`agent-name-${id}`}>
          {name}
        </Text>
        <div id={`agent-about-${id}`}>
          <Text size="sm" c="dimmed">
            {description}
          </Text>
          {!inPlan && (
            <Text size="sm" mt={6}>
              <LockClosedIcon aria-hidden /> Not in your plan. {howToUnlock}
            </Text>
          )}
          {chat && inPlan && (
            <Box mt={6}>
              <ChatPrices chat={chat} />
            </Box>
          )}
        </div>
      </div>
    </label>
  )
}
