import { Group, Skeleton, Stack } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { Economics } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { PageCode } from '../../../parts/code/page-code.tsx'
import { Snippets } from '../../../parts/code/snippets.tsx'
import { useSearchField } from '../../../parts/hooks/use-search-field.ts'
import { DataTable, type Column } from '../../../parts/data-table.tsx'
import { DownloadButton } from '../../../parts/download/download-button.tsx'
import { EmptyState } from '../../../parts/empty-state.tsx'
import { NameSelect } from '../../../parts/name-select.tsx'
import { DayPeriodFields, useDayPeriod } from '../../../parts/period/day-period-fields.tsx'
import { PageHeader } from '../../../parts/page-header.tsx'
import { PageLink } from '../../../parts/page-link.tsx'
import { Panel } from '../../../parts/panel.tsx'
import { QueryState } from '../../../parts/query-state.tsx'
import { readCsv } from '../../../parts/download/read-csv.ts'
import { dayName } from '../../../parts/text/day-name.ts'
import { Money } from '../../../parts/text/money.tsx'
import { StatTile, StatTiles } from '../../overview/stat-tile.tsx'
import { AdminsOnlyPage, isForAdminsOnly } from '../admins-only-page.tsx'
import { EconomicsChart } from './economics-chart.tsx'
import { groupNames, type GroupBy } from './economics-sums.ts'

type GroupRow = Economics['groups'][number]

export function EconomicsPage() {
  const period = useDayPeriod()
  const [group, setGroup] = useSearchField('groupBy')
  const groupBy = Object.hasOwn(groupNames, group) ? (group as GroupBy) : 'day'
  const { from, to } = period.days
  const path = `/api/admin/economics?from=${from}&to=${to}&groupBy=${groupBy}`
  const economics = useQuery({
    queryKey: ['economics', from, to, groupBy],
    queryFn: ({ signal }) => client.economics.get({ from, to, groupBy }, { signal }),
  })
  if (isForAdminsOnly(economics.error)) return <AdminsOnlyPage />
  return (
    <>
      <PageHeader
        title="Economics"
        description="Revenue and provider cost of the tasks and chat turns that ended in this period."
      />
      <Stack gap="lg">
        <Group align="flex-end">
          <DayPeriodFields {...period} />
          <NameSelect label="Group by" names={groupNames} value={groupBy} onChange={setGroup} />
          {economics.data && (
            <DownloadButton
              label="Download CSV"
              fileName={`errand-economics-${from}-${to}-${groupBy}.csv`}
              content={() => readCsv(path)}
            />
          )}
        </Group>
        <QueryState
          query={economics}
          isEmpty={({ groups }) => groups.length === 0}
          empty={<EmptyState title="No executions ended in this period">Choose another period.</EmptyState>}
          skeleton={<Skeleton height={480} />}
        >
          {(known) => (
            <>
              <Totals economics={known} />
              {from !== to && <EconomicsChart from={from} to={to} />}
              <Groups economics={known} />
            </>
          )}
        </QueryState>
        <PageCode>
          <Snippets
            isForPlatform
            request={{ method: 'GET', path }}
            call={{ method: 'economics.get', input: { from, to, groupBy }, result: '{ total, groups }' }}
          />
        </PageCode>
      </Stack>
    </>
  )
}

function Totals({ economics: { total } }: { economics: Economics }) {
  return (
    <StatTiles>
      <StatTile
        label="Revenue"
        value={<Money usd={total.revenueUsd} isRounded />}
        note="Charges minus refunds, including charges paid from granted credit"
      />
      <StatTile
        label="Provider cost"
        value={<Money usd={total.providerCostUsd} isRounded />}
        note="Includes only agents with a configured cost"
      />
      <StatTile label="Margin" value={<Money usd={total.marginUsd} isRounded />} note="Revenue minus provider cost" />
      <StatTile
        label="Written off"
        value={<Money usd={total.writtenOffUsd} isRounded />}
        note="Chat costs above balances, caps and limits"
      />
    </StatTiles>
  )
}

function Groups({ economics: { groupBy, groupCount, groups } }: { economics: Economics }) {
  const by = groupBy === 'key' ? groupNames.key : groupNames[groupBy].toLowerCase()
  return (
    <Panel title={`By ${by}`}>
      <DataTable
        caption={`Totals by ${by}`}
        columns={columnsOf(groupBy, groups)}
        rows={groupBy === 'day' ? groups.toReversed() : groups}
        rowKey={({ value }) => value}
        isWide
      />
      {groupCount > groups.length && `Top ${groups.length} of ${groupCount} by charges.`}
    </Panel>
  )
}

function columnsOf(groupBy: GroupBy, rows: readonly GroupRow[]): Column<GroupRow>[] {
  const amount = (id: keyof GroupRow, label: string): Column<GroupRow> => {
    // Provider costs have nine decimals. Shows only four if the others are zero in all rows.
    const end = rows.every((row) => String(row[id]).endsWith('00000')) ? -5 : undefined
    return { id, label, align: 'right', cell: (row) => <Money usd={String(row[id]).slice(0, end)} isExact /> }
  }
  return [
    { id: 'value', label: groupNames[groupBy], cell: (row) => <GroupName groupBy={groupBy} row={row} /> },
    {
      id: 'executions',
      label: 'Executions',
      align: 'right',
      cell: ({ executions }) => executions.toLocaleString('en'),
    },
    { id: 'failures', label: 'Failures', align: 'right', cell: ({ failures }) => failures.toLocaleString('en') },
    amount('chargedUsd', 'Charged'),
    amount('refundedUsd', 'Refunded'),
    amount('revenueUsd', 'Revenue'),
    amount('providerCostUsd', 'Provider cost'),
    amount('marginUsd', 'Margin'),
  ]
}

function GroupName({ groupBy, row: { email, value } }: { groupBy: GroupBy; row: GroupRow }) {
  if (groupBy === 'user') return <PageLink href={`/admin/users/${value}`}>{email || value}</PageLink>
  if (groupBy === 'day')
    return (
      <PageLink href={`/admin/economics?period=custom&from=${value}&to=${value}&groupBy=user`}>
        {dayName(value, 'long')}
      </PageLink>
    )
  return value || 'None'
}
