import type { User } from '../../../client/client.ts'
import { formatUsd } from '../../../server/kernel/money.ts'
import { Money } from '../../parts/money.tsx'
import { Panel } from '../../parts/panel.tsx'
import { CreditForm } from './credit-form.tsx'
import { Figures } from './figures.tsx'
import { unitsOf } from './units-of.ts'

/** What the user has, and the form that changes it. */
export function UserBalance({ user }: { user: User }) {
  const { balanceUsd, heldUsd } = user
  const free = formatUsd(unitsOf(balanceUsd) - unitsOf(heldUsd))
  return (
    <Panel title="Balance">
      <Figures
        of={[
          { name: 'Balance', value: <Money usd={balanceUsd} /> },
          { name: 'Held by running chats', value: <Money usd={heldUsd} /> },
          { name: 'Free to spend', value: <Money usd={free} /> },
        ]}
      />
      <CreditForm user={user} />
    </Panel>
  )
}
