import { Stack, Title } from '@mantine/core'
import type { Account } from '../../../../client/client.ts'
import { Panel } from '../../../parts/panel.tsx'
import { NotifyForm, RechargeForm } from './recharge-form.tsx'
import { TopupForm, type Payments } from './topup-form.tsx'
import { TopupList } from './topup-list.tsx'

export function TopupsPanel({ account, payments }: { account: Account; payments: Payments }) {
  return (
    <Stack gap="lg">
      <Panel title="Add credit">
        <TopupForm payments={payments} />
      </Panel>
      <Panel title="Payment history">
        <TopupList />
      </Panel>
      <Panel title="Low balance">
        <Stack gap="lg">
          <NotifyForm key={account.notifyBelowUsd} account={account} />
          <Stack gap="sm">
            <Title order={3}>Auto-recharge</Title>
            <RechargeForm key={JSON.stringify(payments)} payments={payments} />
          </Stack>
        </Stack>
      </Panel>
    </Stack>
  )
}
