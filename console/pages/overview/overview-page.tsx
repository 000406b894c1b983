import { Alert, SegmentedControl, SimpleGrid, Skeleton, Stack, Title } from '@mantine/core'
import { ExclamationTriangleIcon } from '@radix-ui/react-icons'
import { isUnreached } from '../../app/query-client.ts'
import { PageCode } from '../../parts/code/page-code.tsx'
import { Snippets } from '../../parts/code/snippets.tsx'
import { ErrorNotice } from '../../parts/error-notice.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { PageLink } from '../../parts/page-link.tsx'
import { TimeText } from '../../parts/text/time-text.tsx'
import { useSearchField } from '../../parts/hooks/use-search-field.ts'
import { BalanceNotices } from '../billing/balance-notices.tsx'
import { GettingStarted } from './getting-started.tsx'
import { NewestTasks, NewestTransactions } from './newest-lists.tsx'
import { OverviewTiles } from './overview-tiles.tsx'
import { RunningTasks } from './running-tasks.tsx'
import { SpendPanel } from './spend-panel.tsx'
import { useLiveOverview, type LiveOverview } from './use-live-overview.ts'

const periods = [7, 30, 90] as const

export function OverviewPage() {
  const [text, setText] = useSearchField('days')
  const days = periods.find((period) => String(period) === text) ?? 30
  const overview = useLiveOverview(days)
  const { account, usage } = overview
  const isReadable = account.data !== undefined || !account.isError
  const period = (
    <SegmentedControl
      size="xs"
      aria-label="Period"
      data={periods.map((one) => ({ value: String(one), label: `${one} days` }))}
      value={String(days)}
      onChange={(value) => setText(value === '30' ? '' : value)}
    />
  )
  return (
    <>
      <PageHeader title="Overview" actions={period} />
      <Stack gap="lg">
        <LiveError overview={overview} />
        <BalanceNotices account={account.data} />
        {account.data?.blockedUntil && <BlockedNotice until={account.data.blockedUntil} />}
        {account.data?.connectorsBlockedUntil && (
          <ConnectorsBlockedNotice until={account.data.connectorsBlockedUntil} />
        )}
        {isReadable && (
          <>
            <OverviewTiles account={account} usage={usage} days={days} />
            <OverviewBody overview={overview} />
          </>
        )}
        <PageCode>
          <Stack gap="xs" miw={0}>
            <Title order={3}>Balance and rate limit</Title>
            <Snippets
              request={{ method: 'GET', path: '/api/account' }}
              call={{ method: 'account.get', result: 'account' }}
            />
          </Stack>
          <Stack gap="xs" miw={0}>
            <Title order={3}>Spend per day</Title>
            <Snippets
              request={{ method: 'GET', path: `/api/usage?days=${days}` }}
              call={{ method: 'account.usage', input: { days }, result: 'usage' }}
            />
          </Stack>
        </PageCode>
      </Stack>
    </>
  )
}

/** Shows only one error, because polled queries usually fail together. */
function LiveError({ overview: { account, pending, processing, tasks, transactions } }: { overview: LiveOverview }) {
  const live = [account, tasks, processing, pending, transactions]
  const failed = live.find(({ error }) => error !== null)
  // The header already shows that the service is unreachable.
  if (!failed || isUnreached(failed.error)) return null
  return (
    <ErrorNotice
      error={failed.error}
      title={failed.data === undefined ? 'Could not load the overview' : 'The overview may be out of date'}
      onRetry={() => void Promise.all(live.map(({ refetch }) => refetch()))}
      isRetrying={failed.isFetching}
    />
  )
}

/** For a new account, shows the first steps instead of empty lists. */
function OverviewBody({ overview }: { overview: LiveOverview }) {
  const { isNew, pending, processing, replying, tasks, transactions, usage } = overview
  if (isNew === undefined) return <Skeleton height={260} aria-busy="true" />
  if (isNew) {
    return (
      <>
        <GettingStarted />
        <NewestTransactions transactions={transactions} />
      </>
    )
  }
  return (
    <>
      <SpendPanel usage={usage} />
      <RunningTasks processing={processing} pending={pending} replying={replying} />
      <SimpleGrid cols={{ base: 1, xl: 2 }} spacing="lg">
        <NewestTasks tasks={tasks} />
        <NewestTransactions transactions={transactions} />
      </SimpleGrid>
    </>
  )
}

function BlockedNotice({ until }: { until: string }) {
  return (
    <Alert color="yellow" variant="light" title="New tasks are blocked" icon={<ExclamationTriangleIcon aria-hidden />}>
      Too many tasks failed in a short time. You can create tasks again <TimeText at={until} />; chats still work. Check
      your <PageLink href="/tasks?status=failed">failed tasks</PageLink>, or ask an admin to unblock your account.
    </Alert>
  )
}

function ConnectorsBlockedNotice({ until }: { until: string }) {
  return (
    <Alert
      color="yellow"
      variant="light"
      title="Tasks with connectors are blocked"
      icon={<ExclamationTriangleIcon aria-hidden />}
    >
      A task failed after calling a connector. You can create tasks with connectors again <TimeText at={until} />; other
      tasks and chats still work. To continue sooner, ask an admin to unblock your account.
    </Alert>
  )
}
