import { Group, Select, Skeleton, Stack } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import type { Usage } from '../../../client/client.ts'
import { client } from '../../app/api-client.ts'
import { useAccount } from '../../app/use-account.ts'
import { DayChart } from '../../parts/chart/day-chart.tsx'
import { DataTable, type Column } from '../../parts/data-table.tsx'
import { DownloadButton } from '../../parts/download/download-button.tsx'
import { EmptyState } from '../../parts/empty-state.tsx'
import { useSearchField } from '../../parts/hooks/use-search-field.ts'
import { PageHeader } from '../../parts/page-header.tsx'
import { PageLink } from '../../parts/page-link.tsx'
import { Panel } from '../../parts/panel.tsx'
import { QueryState } from '../../parts/query-state.tsx'
import { readCsv } from '../../parts/download/read-csv.ts'
import { Snippets } from '../../parts/snippets.tsx'
import { countText } from '../../parts/text/count-text.ts'
import { Money } from '../../parts/text/money.tsx'
import { usdText } from '../../parts/text/usd-text.ts'
import { StatTile, StatTiles } from '../overview/stat-tile.tsx'
import { usageTotals } from '../overview/usage-totals.ts'
import {
  daysLeft,
  groupName,
  groupNames,
  inText,
  seriesOf,
  spentOf,
  successRate,
  type GroupBy,
  type UsageGroup,
} from './group-sums.ts'

const periods = { '7': 'Last 7 days', '30': 'Last 30 days', '90': 'Last 90 days' } as const
const keysMax = 100

/** Spending, runs and failures of the account, by agent, endpoint, model or API key. */
export function UsagePage() {
  const [period, setPeriod] = useSearchField('days')
  const [group, setGroup] = useSearchField('groupBy')
  const days = period in periods ? Number(period) : 30
  const groupBy = group in groupNames ? (group as GroupBy) : 'agent'
  const path = `/api/usage?days=${days}&groupBy=${groupBy}`
  const usage = useQuery({
    queryKey: ['usage', days, groupBy],
    queryFn: ({ signal }) => client.account.usage({ days, groupBy }, { signal }),
    placeholderData: keepPreviousData,
  })
  const names = useKeyNames(groupBy === 'key')
  return (
    <>
      <PageHeader title="Usage" description="What tasks and chats cost, per UTC day." />
      <Stack gap="lg">
        <Group align="flex-end">
          <Select
            label="Period"
            data={Object.entries(periods).map(([value, label]) => ({ value, label }))}
            value={String(days)}
            allowDeselect={false}
            onChange={(value) => setPeriod(value ?? '')}
          />
          <Select
            label="Group by"
            data={Object.entries(groupNames).map(([value, label]) => ({ value, label }))}
            value={groupBy}
            allowDeselect={false}
            onChange={(value) => setGroup(value ?? '')}
          />
          <DownloadButton
            label="Download CSV"
            fileName={`errand-usage-${days}-days-by-${groupBy}.csv`}
            type="text/csv"
            content={() => readCsv(path)}
          />
        </Group>
        <QueryState query={usage} skeleton={<Skeleton height={560} />}>
          {(known) => <Sums usage={known} groupBy={groupBy} names={names} />}
        </QueryState>
        <Panel title="Code examples">
          <Snippets
            key={path}
            request={{ method: 'GET', path }}
            call={{ method: 'account.usage', input: { days, groupBy }, result: '{ days, groups }' }}
          />
        </Panel>
      </Stack>
    </>
  )
}

/** Returns the names of the account's newest keys by id. Empty until they are loaded. */
function useKeyNames(isNeeded: boolean): ReadonlyMap<string, string> {
  const keys = useQuery({
    queryKey: ['keys', 'names'],
    queryFn: ({ signal }) => client.keys.list({ limit: keysMax }, { signal }),
    enabled: isNeeded,
  })
  return new Map(keys.data?.keys.map(({ id, name }) => [id, name]))
}

type SumsProps = { usage: Usage; groupBy: GroupBy; names: ReadonlyMap<string, string> }

function Sums({ groupBy, names, usage: { days, groups = [] } }: SumsProps) {
  const account = useAccount().data
  const totals = usageTotals(days)
  const period = `in ${days.length} days`
  const left = account && daysLeft({ ...account, spentUsd: totals.spentUsd, days: days.length })
  const nameOf = (value: string) => groupName(groupBy, value, names)
  const series = seriesOf(groups, nameOf)
  const by = inText(groupBy)
  return (
    <Stack gap="lg">
      <StatTiles>
        <StatTile label={`Spent ${period}`} value={<Money usd={totals.spentUsd} />} note="Charges minus refunds" />
        <StatTile label={`Executions ${period}`} value={countText(totals.executions)} note="Tasks and chats" />
        <StatTile
          label="Success rate"
          value={successRate(totals) ?? 'None ran'}
          note={`${countText(totals.failures)} failed`}
        />
        <StatTile
          label="Balance lasts"
          value={left === undefined ? 'No spending' : lastsText(left)}
          note="At the average of these days"
        />
      </StatTiles>
      {groups.length === 0 ? (
        <EmptyState title="Nothing ended in this period">Choose a longer period.</EmptyState>
      ) : (
        <>
          <Panel title={`Charges per day (UTC), by ${by}`}>
            <DayChart
              dates={days.map(({ date }) => date)}
              series={series}
              summary={`Stacked bar chart of ${days.length} days: ${groups
                .slice(0, series.length)
                .map(({ spentUsd, value }) => `${nameOf(value)} ${usdText(spentUsd)}`)
                .join(', ')}. The table below has all values.`}
            />
            {groups.length > series.length && `The first ${series.length} of ${groups.length}, by charges.`}
          </Panel>
          <Panel title={`By ${by}`}>
            <DataTable
              caption={`Sums by ${by}`}
              columns={columnsOf({ days, groupBy, nameOf })}
              rows={groups}
              rowKey={({ value }) => value}
              isWide
            />
          </Panel>
        </>
      )}
    </Stack>
  )
}

function lastsText(days: number): string {
  if (days > 365) return 'Over a year'
  return days === 1 ? 'About 1 day' : `About ${days} days`
}

type ColumnsOf = { days: Usage['days']; groupBy: GroupBy; nameOf: (value: string) => string }

function columnsOf({ days, groupBy, nameOf }: ColumnsOf): Column<UsageGroup>[] {
  const first = days[0]?.date
  const last = days.at(-1)?.date
  const money = (id: string, label: string, usd: (row: UsageGroup) => string): Column<UsageGroup> => ({
    id,
    label,
    align: 'right',
    cell: (row) => <Money usd={usd(row)} />,
  })
  return [
    {
      id: 'value',
      label: groupNames[groupBy],
      cell: ({ value }) =>
        groupBy === 'agent' && value !== '' ? (
          <PageLink href={`/tasks?agent=${encodeURIComponent(value)}&time=days&from=${first}&to=${last}`}>
            {value}
          </PageLink>
        ) : (
          nameOf(value)
        ),
    },
    { id: 'executions', label: 'Executions', align: 'right', cell: ({ executions }) => countText(executions) },
    { id: 'failures', label: 'Failures', align: 'right', cell: ({ failures }) => countText(failures) },
    { id: 'success', label: 'Success rate', align: 'right', cell: (row) => successRate(row) ?? '' },
    money('charged', 'Charged', ({ spentUsd }) => spentUsd),
    money('refunded', 'Refunded', ({ refundedUsd }) => refundedUsd),
    money('spent', 'Spent', spentOf),
  ]
}
