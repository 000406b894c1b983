import type { User } from '../../../../client/client.ts'
import { Money } from '../../../parts/text/money.tsx'
import { Panel } from '../../../parts/panel.tsx'
import { subtractUsd } from '../../../parts/text/usd-units.ts'
import { CreditForm } from './credit-form.tsx'
import { Figures } from '../system/figures.tsx'

export function UserBalance({ user }: { user: User }) {
  const { balanceUsd, heldUsd, owedUsd, writtenOffUsd } = user
  return (
    <Panel title="Balance">
      <Figures
        of={[
          { name: 'Balance', value: <Money usd={balanceUsd} /> },
          { name: 'Held by running chats', value: <Money usd={heldUsd} /> },
          { name: 'Free to spend', value: <Money usd={subtractUsd(balanceUsd, heldUsd)} /> },
          ...(owedUsd === '0.0000'
            ? []
            : [{ name: 'Owed', value: <Money usd={owedUsd} c="red" />, note: 'Payments that were taken back' }]),
          { name: 'Written off ever', value: <Money usd={writtenOffUsd} />, note: 'Used by chats, beyond the balance' },
        ]}
      />
      <CreditForm user={user} />
    </Panel>
  )
}
