import { Stack, Text } from '@mantine/core'
import { useAccount } from '../../app/use-account.ts'
import { EmptyState } from '../../parts/empty-state.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { PageLink } from '../../parts/page-link.tsx'
import { Panel } from '../../parts/panel.tsx'
import { QueryState } from '../../parts/query-state.tsx'
import { PasswordForm } from './password-form.tsx'

export function PasswordPage() {
  const account = useAccount()
  return (
    <>
      <PageHeader
        title="Password"
        description="You log in to this console with it. API keys go on working when it changes."
      />
      <QueryState query={account}>
        {({ email, hasPassword, isAdmin }) =>
          hasPassword ? (
            <Stack gap="lg" maw={520}>
              <Panel title="Change the password">
                <PasswordForm email={email} />
              </Panel>
            </Stack>
          ) : (
            <EmptyState title="This account has no password">
              <Text>
                You log in through single sign-on.{' '}
                {isAdmin
                  ? 'To have a password too, make a link that sets one:'
                  : 'To have a password too, ask an admin for a link that sets one.'}
              </Text>
              {isAdmin && <PageLink href="/admin/users">Go to the users</PageLink>}
            </EmptyState>
          )
        }
      </QueryState>
    </>
  )
}
