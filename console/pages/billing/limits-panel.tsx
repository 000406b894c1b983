import type { Account } from '../../../client/client.ts'
import { KeyValueList } from '../../parts/key-value-list.tsx'
import { Panel } from '../../parts/panel.tsx'
import { countText } from '../../parts/text/count-text.ts'
import { TimeText } from '../../parts/text/time-text.tsx'
import { usdText } from '../../parts/text/usd-text.ts'

/** Limits of the account's plan, with their usage and reset times. Renders nothing for an account without limits. */
export function LimitsPanel({ account: { limits } }: { account: Account }) {
  const { agents, executionsPerMinute, plan, spendPerDayUsd, spendResetsAt, tasksAtWork, tasksWaiting, used } = limits
  if (plan === null && spendPerDayUsd === null && tasksAtWork === null && tasksWaiting === null && agents === null) {
    return null
  }
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
                {usdText(used.spentTodayUsd ?? '0.0000')} of {usdText(spendPerDayUsd)}
                {spendResetsAt !== null && (
                  <>
                    , resets <TimeText at={spendResetsAt} isExact />
                  </>
                )}
              </>
            ),
          ],
          ['Agents', agents?.join(', ')],
        ]}
      />
    </Panel>
  )
}

function ofAll(used: number, limit: number): string {
  return `${countText(used)} of ${countText(limit)}`
}
