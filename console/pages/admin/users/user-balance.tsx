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
          { name: 'Balance', value: <Money usd={balanceUsd} isRounded /> },
          { name: 'Held for replies', value: <Money usd={heldUsd} isRounded /> },
          { name: 'Available', value: <Money usd={subtractUsd(balanceUsd, heldUsd)} isRounded /> },
          ...(owedUsd === '0.0000'
            ? []
            : [
                {
                  name: 'Owed',
                  value: <Money usd={owedUsd} c="red" isRounded />,
                  note: 'Refunded or disputed payments',
                },
              ]),
          {
            name: 'Total written off',
            value: <Money usd={writtenOffUsd} isRounded />,
            note: 'Chat costs above the balance, a cap or a limit',
          },
        ]}
      />
      <CreditForm user={user} />
    </Panel>
  )
}
