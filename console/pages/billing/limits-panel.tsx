import { Anchor, Text } from '@mantine/core'
import { Fragment } from 'react'
import type { Account } from '../../../client/client.ts'
import { brand, supportUrl } from '../../app/read-brand.ts'
import { KeyValueList } from '../../parts/key-value-list.tsx'
import { PageLink } from '../../parts/page-link.tsx'
import { Panel } from '../../parts/panel.tsx'
import { countText } from '../../parts/text/count-text.ts'
import { sizeText } from '../../parts/text/size-text.ts'
import { MoneyOf } from '../../parts/text/money.tsx'
import { TimeText } from '../../parts/text/time-text.tsx'
import { agentPath } from '../agents/agent-path.ts'
import { nameOf, useAllAgents } from '../chat/list/session-list.ts'

/** Limits of the account, with their usage and reset times. Renders nothing for an account without limits. */
export function LimitsPanel({ account: { limits } }: { account: Account }) {
  const { agents, executionsPerMinute, payloadBytesPerDay, plan, spendPerDayUsd, tasksAtWork, tasksWaiting } = limits
  const { payloadsResetAt, spendResetsAt, used } = limits
  const all = [plan, spendPerDayUsd, tasksAtWork, tasksWaiting, agents, payloadBytesPerDay]
  if (all.every((limit) => limit === null)) return null
  return (
    <Panel title="Limits">
      <KeyValueList
        rows={[
          ['Plan', plan],
          ['Executions per minute', executionsPerMinute === 0 ? 'No limit' : countText(executionsPerMinute)],
          ['Running tasks', tasksAtWork !== null && ofAll(used.tasksAtWork, tasksAtWork)],
          ['Queued tasks', tasksWaiting !== null && ofAll(used.tasksWaiting, tasksWaiting)],
          [
            'Spent today',
            spendPerDayUsd !== null && (
              <>
                <MoneyOf usd={used.spentTodayUsd ?? '0.0000'} ofUsd={spendPerDayUsd} />
                <ResetTime at={spendResetsAt} />
              </>
            ),
          ],
          [
            'Large inputs, results and files stored today',
            payloadBytesPerDay !== null && (
              <>
                {sizeText(used.payloadBytesToday)} of {sizeText(payloadBytesPerDay)}
                <ResetTime at={payloadsResetAt} />
              </>
            ),
          ],
          ['Agents', agents && <AgentLinks key="agents" ids={agents} />],
        ]}
      />
      {plan !== null && supportUrl !== undefined && (
        <Text size="sm" c="dimmed" mt="sm">
          To change your plan, contact{' '}
          <Anchor href={supportUrl} inherit underline="always">
            {brand.support}
          </Anchor>
          .
        </Text>
      )}
    </Panel>
  )
}

function ResetTime({ at }: { at: string | null }) {
  if (at === null) return null
  return (
    <>
      , resets <TimeText at={at} />
    </>
  )
}

function AgentLinks({ ids }: { ids: readonly string[] }) {
  const { data } = useAllAgents()
  return ids.map((id, n) => (
    <Fragment key={id}>
      {n > 0 && ', '}
      <PageLink href={agentPath(id)}>{nameOf(id, data)}</PageLink>
    </Fragment>
  ))
}

function ofAll(used: number, limit: number): string {
  return `${countText(used)} of ${countText(limit)}`
}
