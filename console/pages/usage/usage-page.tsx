import { Group, Skeleton, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useLocation } from 'wouter'
import type { Usage } from '../../../client/client.ts'
import { formatUsd } from '../../../server/kernel/money.ts'
import { client } from '../../app/api-client.ts'
import { useAccount } from '../../app/use-account.ts'
import { PageCode } from '../../parts/code/page-code.tsx'
import { Snippets } from '../../parts/code/snippets.tsx'
import { ChartOrTable, type View } from '../../parts/chart/chart-or-table.tsx'
import { DayChart, type DaySeries } from '../../parts/chart/day-chart.tsx'
import { DataTable, type Column } from '../../parts/data-table.tsx'
import { DownloadButton } from '../../parts/download/download-button.tsx'
import { EmptyState } from '../../parts/empty-state.tsx'
import { useSearchField } from '../../parts/hooks/use-search-field.ts'
import { NameSelect } from '../../parts/name-select.tsx'
import { DayPeriodFields, useDayPeriod } from '../../parts/period/day-period-fields.tsx'
import type { PeriodName } from '../../parts/period/day-period.ts'
import { PageHeader } from '../../parts/page-header.tsx'
import { PageLink } from '../../parts/page-link.tsx'
import { Panel } from '../../parts/panel.tsx'
import { QueryState } from '../../parts/query-state.tsx'
import { readCsv } from '../../parts/download/read-csv.ts'
import { countText } from '../../parts/text/count-text.ts'
import { dayName } from '../../parts/text/day-name.ts'
import { Money } from '../../parts/text/money.tsx'
import { sumUsd, usdUnits } from '../../parts/text/usd-units.ts'
import { usdText } from '../../parts/text/usd-text.ts'
import { durationText } from '../../parts/text/duration-text.ts'
import { useAllAgents } from '../chat/list/session-list.ts'
import { useKeyNames } from '../settings/keys/use-key-names.ts'
import { StatTile, StatTiles } from '../overview/stat-tile.tsx'
import { chargedOf } from '../overview/usage-totals.ts'
import {
  daysLeft,
  failureRate,
  groupName,
  groupNames,
  inText,
  seriesOf,
  spentOf,
  totalOf,
  type GroupBy,
  type UsageGroup,
} from './group-sums.ts'

const periodTexts: Readonly<Record<PeriodName, string>> = {
  today: 'today',
  yesterday: 'yesterday',
  week: 'in the last 7 days',
  month: 'in the last 30 days',
  quarter: 'in the last 90 days',
  year: 'in the last 365 days',
  thisMonth: 'this month',
  lastMonth: 'last month',
  custom: 'in this period',
}
const groupsMax = 1000
const runsMax = 2000

export function UsagePage() {
  const period = useDayPeriod()
  const [group, setGroup] = useSearchField('groupBy')
  const { from, to } = period.days
  const groupBy = Object.hasOwn(groupNames, group) ? (group as GroupBy) : 'agent'
  const path = `/api/usage?from=${from}&to=${to}&groupBy=${groupBy}`
  const usage = useQuery({
    queryKey: ['usage', groupBy, from, to],
    queryFn: ({ signal }) => client.account.usage({ from, to, groupBy }, { signal }),
    // Rows of another grouping would be wrong under the new label.
    placeholderData: (before, query) => (query?.queryKey[1] === groupBy ? before : undefined),
  })
  const keyNames = useKeyNames(groupBy === 'key')
  const agents = useAllAgents()
  const agentNames = new Map(agents.data?.map(({ id, name }) => [id, name]))
  const skeleton = <Skeleton height={560} />
  return (
    <>
      <PageHeader title="Usage" description="Cost of tasks and chats, per UTC day." />
      <Stack gap="lg">
        <Group align="flex-end">
          <DayPeriodFields {...period} />
          <NameSelect label="Group by" names={groupNames} value={groupBy} onChange={setGroup} />
          <DownloadButton
            label="Download CSV"
            fileName={`errand-usage-${from}-${to}-by-${groupBy}.csv`}
            content={() => readCsv(path)}
            buttonProps={{ h: 36 }}
          />
        </Group>
        <QueryState query={usage} skeleton={skeleton}>
          {(known) =>
            // Wait for the names. Otherwise, names and colors would change when the names arrive.
            (groupBy === 'agent' && agents.isPending) || (groupBy === 'key' && !keyNames) ? (
              skeleton
            ) : (
              <Sums
                usage={known}
                groupBy={groupBy}
                names={groupBy === 'agent' ? agentNames : (keyNames ?? new Map())}
                period={usage.isPlaceholderData ? 'custom' : period.name}
              />
            )
          }
        </QueryState>
        <PageCode>
          <Snippets
            key={path}
            request={{ method: 'GET', path }}
            call={{ method: 'account.usage', input: { from, to, groupBy }, result: '{ days, groups }' }}
          />
        </PageCode>
      </Stack>
    </>
  )
}

type SumsProps = { usage: Usage; groupBy: GroupBy; names: ReadonlyMap<string, string>; period: PeriodName }

function Sums({ groupBy, names, period, usage: { days, groups = [], hours, runs = 0 } }: SumsProps) {
  const account = useAccount().data
  const [view, setView] = useState<View>('chart')
  // Sum up the days instead of the tags, because a task counts for each of its tags.
  const totals = totalOf(groupBy === 'tag' ? days.map((day) => ({ ...day, spentUsd: chargedOf(day) })) : groups)
  const reservedUsd = sumUsd(days.map((day) => day.reservedUsd))
  const periodText = periodTexts[period]
  const isCurrent = days.at(-1)?.date === new Date().toISOString().slice(0, 10)
  const left = account && daysLeft(account.balanceUsd, days)
  const nameOf = (value: string) => groupName(groupBy, value, names)
  const [, navigate] = useLocation()
  const step = hours ? 'hour' : 'day'
  const dates = hours ? hours.map(({ start }) => start) : days.map(({ date }) => date)
  const series = hours
    ? [{ name: 'Charged', color: 'brand.5', units: hours.map((hour) => usdUnits(chargedOf(hour))) }]
    : seriesOf(groups, { agentIds: groupBy === 'agent' ? [...names.keys()] : [], nameOf })
  const by = inText(groupBy)
  return (
    <Stack gap="lg">
      <StatTiles>
        <StatTile
          label={`Spent ${periodText}`}
          value={<Money usd={spentOf(totals)} isRounded />}
          note={
            usdUnits(reservedUsd) > 0 ? (
              <>
                <Money usd={reservedUsd} /> more reserved for tasks in progress
              </>
            ) : (
              'Charges minus refunds'
            )
          }
        />
        <StatTile label={`Executions ${periodText}`} value={countText(totals.executions)} note="Tasks and chat turns" />
        <StatTile
          label="Failure rate"
          value={failureRate(totals) ?? 'No executions'}
          note={`${countText(totals.failures)} failed`}
        />
        {isCurrent && (
          <StatTile
            label="Balance lasts"
            value={!account ? undefined : left === undefined ? 'No spending' : lastsText(left)}
            note="Estimate based on average spending since the first charge"
          />
        )}
      </StatTiles>
      {groups.length === 0 ? (
        <EmptyState title={`No ${groupBy === 'tag' ? 'tagged tasks' : 'executions'} ended in this period`}>
          Choose another period.
        </EmptyState>
      ) : (
        <>
          <Panel
            title={hours ? 'Charges per hour (UTC)' : `Charges per day (UTC), by ${by}`}
            actions={<ChartOrTable label={`View charges per ${step} as`} view={view} onChange={setView} />}
          >
            {view === 'table' ? (
              <StepsTable dates={dates} series={series} caption={`Charges per ${step}${hours ? '' : ` by ${by}`}`} />
            ) : (
              <DayChart
                dates={dates}
                series={series}
                {...(!hours && { onSelect: (date) => navigate(`/tasks?time=days&from=${date}&to=${date}`) })}
                summary={`Stacked bar chart of ${dates.length} ${step}s: ${
                  hours
                    ? usdText(totals.spentUsd)
                    : groups
                        .slice(0, series.length)
                        .map(({ spentUsd, value }) => `${nameOf(value)} ${usdText(spentUsd)}`)
                        .join(', ')
                }. The table has the values of each ${step}.`}
              />
            )}
            {!hours &&
              groups.length > series.length &&
              `Top ${series.length} of ${countText(groups.length)} by charges.`}
          </Panel>
          <Panel title={`By ${by}`}>
            <DataTable
              caption={`Totals by ${by}`}
              columns={columnsOf({ days, groupBy, nameOf })}
              rows={groups}
              rowKey={({ value }) => value}
              isWide
            />
            <Text size="sm" c="dimmed" mt="xs">
              {groups.length >= groupsMax && `Top ${countText(groupsMax)} by charges. `}
              {groupBy === 'tag' && 'A task with several tags is counted once for each tag. '}
              {groupBy !== 'model' && sourceText(groupBy, runs)}
            </Text>
          </Panel>
        </>
      )}
    </Stack>
  )
}

function lastsText(days: number): string {
  if (days > 365) return 'Over a year'
  return days === 1 ? '1 day' : `${days} days`
}

function sourceText(groupBy: GroupBy, runs: number): string {
  const what = groupBy === 'tag' ? 'Sums and times' : 'Times'
  const source = runs < runsMax ? 'all tasks of the period' : `the newest ${countText(runsMax)} tasks`
  return `${what} cover ${source}, excluding chats. For p95, 95% took at most this long.`
}

type StepsTableProps = { dates: readonly string[]; series: readonly DaySeries[]; caption: string }

function StepsTable({ caption, dates, series }: StepsTableProps) {
  const columns: Column<{ date: string; n: number }>[] = [
    { id: 'at', label: 'Time (UTC)', cell: ({ date }) => <time dateTime={date}>{dayName(date, 'long')}</time> },
    ...series.map(({ name, units }, column): Column<{ date: string; n: number }> => ({
      id: String(column),
      label: name,
      align: 'right',
      cell: ({ n }) => <Money usd={formatUsd(units[n] ?? 0)} isExact />,
    })),
  ]
  const rows = dates
    .map((date, n) => ({ date, n }))
    .filter(({ n }) => series.some(({ units }) => units[n] !== 0))
    .toReversed()
  return <DataTable caption={caption} columns={columns} rows={rows} rowKey={({ date }) => date} isWide />
}

type ColumnsOf = { days: Usage['days']; groupBy: GroupBy; nameOf: (value: string) => string }

function columnsOf({ days, groupBy, nameOf }: ColumnsOf): Column<UsageGroup>[] {
  const [from, to] = [days.at(0)?.date ?? '', days.at(-1)?.date ?? '']
  const money = (id: string, label: string, usd: (row: UsageGroup) => string): Column<UsageGroup> => ({
    id,
    label,
    align: 'right',
    cell: (row) => <Money usd={usd(row)} isExact />,
  })
  const times = (of: 'run' | 'wait', label: string): Column<UsageGroup> => ({
    id: of,
    label,
    align: 'right',
    cell: (row) => <span style={{ whiteSpace: 'nowrap' }}>{timesText(row[`${of}P50Ms`], row[`${of}P95Ms`])}</span>,
  })
  return [
    {
      id: 'value',
      label: groupNames[groupBy],
      cell: ({ value }) =>
        groupBy !== 'model' && value !== '' ? (
          <PageLink href={`/tasks?${new URLSearchParams({ [groupBy]: value, time: 'days', from, to })}`}>
            {nameOf(value)}
          </PageLink>
        ) : (
          nameOf(value)
        ),
    },
    { id: 'executions', label: 'Executions', align: 'right', cell: ({ executions }) => countText(executions) },
    { id: 'failures', label: 'Failures', align: 'right', cell: ({ failures }) => countText(failures) },
    { id: 'rate', label: 'Failure rate', align: 'right', cell: (row) => failureRate(row) ?? '–' },
    ...(groupBy === 'model' ? [] : [times('run', 'Run time p50 / p95'), times('wait', 'Queue time p50 / p95')]),
    money('charged', 'Charged', ({ spentUsd }) => spentUsd),
    money('refunded', 'Refunded', ({ refundedUsd }) => refundedUsd),
    money('spent', 'Spent', spentOf),
  ]
}

function timesText(p50: number | null, p95: number | null): string {
  return p50 === null || p95 === null ? '–' : `${durationText(p50)} / ${durationText(p95)}`
}
