import { Button, Group, Stack, Text } from '@mantine/core'
import { basePath } from '../../app/service-url.ts'
import { useAccount } from '../../app/use-account.ts'
import { EmptyState } from '../../parts/empty-state.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { PageLink } from '../../parts/page-link.tsx'
import { Panel } from '../../parts/panel.tsx'
import { QueryState } from '../../parts/query-state.tsx'
import { EraseAccount } from './erase-account.tsx'
import { PasswordForm } from './password-form.tsx'

export function PasswordPage() {
  const account = useAccount()
  return (
    <>
      <PageHeader
        title="Password"
        description="The password you use to log in to this console. API keys keep working when you change it."
      />
      <QueryState query={account}>
        {({ balanceUsd, email, hasPassword, isAdmin }) => (
          <Stack gap="lg" maw={520}>
            {hasPassword ? (
              <Panel title="Change password">
                <PasswordForm email={email} />
              </Panel>
            ) : (
              <EmptyState title="This account has no password">
                <Text>
                  You log in through single sign-on.{' '}
                  {isAdmin
                    ? 'To set a password, create a password link:'
                    : 'To set a password, ask an admin for a password link.'}
                </Text>
                {isAdmin && <PageLink href="/admin/users">Go to users</PageLink>}
              </EmptyState>
            )}
            <Panel title="Your data">
              <Text size="sm" c="dimmed" mb="sm">
                Export a copy of your data, or erase the account.
              </Text>
              <Group gap="xs">
                <Button component="a" href={`${basePath}/api/account/export`} download size="xs" variant="default">
                  Export data
                </Button>
                <EraseAccount {...{ balanceUsd, hasPassword }} />
              </Group>
            </Panel>
          </Stack>
        )}
      </QueryState>
    </>
  )
}
