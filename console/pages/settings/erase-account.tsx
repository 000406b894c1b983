import { Stack, Text } from '@mantine/core'
import { useState } from 'react'
import type { Account } from '../../../client/client.ts'
import { client } from '../../app/api-client.ts'
import { leaveConsole } from '../../app/leave-console.ts'
import { ConfirmButton } from '../../parts/confirm-button.tsx'
import { PasswordField } from '../../parts/password-field.tsx'
import { Money } from '../../parts/text/money.tsx'

export function EraseAccount({ balanceUsd, hasPassword }: Pick<Account, 'balanceUsd' | 'hasPassword'>) {
  const [password, setPassword] = useState('')
  const erase = async () => {
    await client.account.erase({ forfeitBalanceUsd: balanceUsd, ...(hasPassword && { password }) })
    leaveConsole()
  }
  return (
    <ConfirmButton
      label="Erase account"
      title="Erase your account?"
      confirmLabel="Erase account"
      onConfirm={erase}
      buttonProps={{ color: 'red', variant: 'light' }}
    >
      <Stack gap="sm">
        <Text>
          This cannot be undone. Your tasks, chats, keys, webhooks and connectors are deleted. Transactions remain,
          without your name.
        </Text>
        {Number(balanceUsd) > 0 && (
          <Text>
            You will lose your balance of <Money usd={balanceUsd} />.
          </Text>
        )}
        {hasPassword && (
          <PasswordField
            label="Password"
            autoComplete="current-password"
            value={password}
            onChange={(event) => setPassword(event.currentTarget.value)}
          />
        )}
      </Stack>
    </ConfirmButton>
  )
}
