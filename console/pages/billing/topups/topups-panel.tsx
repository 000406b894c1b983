import { Stack, Title } from '@mantine/core'
import type { Account } from '../../../../client/client.ts'
import { Panel } from '../../../parts/panel.tsx'
import { NotifyForm, RechargeForm } from './recharge-form.tsx'
import { TopupForm } from './topup-form.tsx'
import { TopupList } from './topup-list.tsx'

/** Manual and automatic top-ups. Renders nothing if the service does not accept payments. */
export function TopupsPanel({ account }: { account: Account | undefined }) {
  if (!account?.payments) return null
  const { notifyBelowUsd, payments } = account
  return (
    <>
      <Panel title="Add credit">
        <Stack gap="lg">
          <TopupForm payments={payments} />
          <TopupList />
        </Stack>
      </Panel>
      <Panel title="Low balance">
        <Stack gap="lg">
          <NotifyForm key={notifyBelowUsd} account={account} />
          <Stack gap="sm">
            <Title order={3}>Auto-recharge</Title>
            <RechargeForm key={JSON.stringify(payments)} payments={payments} />
          </Stack>
        </Stack>
      </Panel>
    </>
  )
}
