import { Skeleton, Stack, Tabs } from '@mantine/core'
import type { Account } from '../../../client/client.ts'
import { isUnreached } from '../../app/query-client.ts'
import { useAccount } from '../../app/use-account.ts'
import { ErrorNotice } from '../../parts/error-notice.tsx'
import { useSearchField } from '../../parts/hooks/use-search-field.ts'
import { PageHeader } from '../../parts/page-header.tsx'
import { PageLink } from '../../parts/page-link.tsx'
import { BalanceNotices } from './balance-notices.tsx'
import { BalanceTiles } from './balance-tiles.tsx'
import { LimitsPanel } from './limits-panel.tsx'
import type { Payments } from './topups/topup-form.tsx'
import { TopupReturn } from './topups/topup-return.tsx'
import { TopupsPanel } from './topups/topups-panel.tsx'
import { TransactionList } from './transaction-list.tsx'

export function BillingPage() {
  const account = useAccount()
  const { data } = account
  return (
    <>
      <PageHeader
        title="Billing"
        description={
          <>
            Every credit, charge and refund.{' '}
            <PageLink href="/billing/statement" underline="always">
              Statements
            </PageLink>
          </>
        }
      />
      <Stack gap="lg">
        {account.error && !isUnreached(account.error) && (
          <ErrorNotice
            error={account.error}
            title="Could not load the balance"
            onRetry={() => void account.refetch()}
          />
        )}
        <TopupReturn />
        <BalanceNotices account={data} />
        <BalanceTiles account={account} />
        {data && <LimitsPanel account={data} />}
        {data?.payments ? (
          <BillingTabs account={data} payments={data.payments} />
        ) : // Without this placeholder, the list would shift when the account arrives and the tabs appear.
        account.isPending ? (
          <Skeleton height={480} />
        ) : (
          <TransactionList />
        )}
      </Stack>
    </>
  )
}

const tabs = { transactions: 'Transactions', payments: 'Payments' }
const first = 'transactions'

function BillingTabs({ account, payments }: { account: Account; payments: Payments }) {
  const [named, setNamed] = useSearchField('tab')
  return (
    <Tabs
      value={Object.hasOwn(tabs, named) ? named : first}
      onChange={(next) => setNamed(next === null || next === first ? '' : next)}
      keepMounted={false}
      activateTabWithKeyboard={false}
    >
      <Tabs.List mb="lg" aria-label="Billing">
        {Object.entries(tabs).map(([value, label]) => (
          <Tabs.Tab key={value} value={value}>
            {label}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      <Tabs.Panel value="transactions">
        <TransactionList />
      </Tabs.Panel>
      <Tabs.Panel value="payments">
        <TopupsPanel account={account} payments={payments} />
      </Tabs.Panel>
    </Tabs>
  )
}
