import { Alert, Button, Group, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import type { Connector } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { queryClient } from '../../../app/query-client.ts'
import { ConfirmButton } from '../../../parts/confirm-button.tsx'
import { ErrorNotice } from '../../../parts/error-notice.tsx'
import { useSearchField } from '../../../parts/hooks/use-search-field.ts'
import { notifyDone } from '../../../parts/notify.tsx'
import { Panel } from '../../../parts/panel.tsx'

/** Messages for the outcomes of a sign-in. The service redirects the browser here with the outcome in the URL. */
const ends: Record<string, string> = {
  expired: 'The sign-in is no longer valid. Sign in again.',
  'no-login': 'You were not logged in to Errand in that browser. Log in, then sign in again.',
  'other-login': 'The sign-in started in a different browser. Sign in again, and stay in the same browser.',
  denied: 'Access was denied. Sign in again to allow access.',
  failed: 'The server did not grant access. Sign in again.',
}

export function SignInPanel({ connector }: { connector: Connector }) {
  const { id, name, status } = connector
  const [end] = useSearchField('signIn')
  const begin = useMutation({
    mutationFn: () => client.connectors.signIn({ connectorId: id }),
    onSuccess: ({ authorizationUrl }) => location.assign(authorizationUrl),
  })
  const isNeeded = status === 'needs_sign_in'
  return (
    <Panel title="Sign-in">
      {ends[end] !== undefined && (
        <Alert color="red" title="Sign-in failed" role="alert" mb="md">
          {ends[end]}
        </Alert>
      )}
      {begin.error && <ErrorNotice title="Could not start the sign-in" error={begin.error} />}
      <Text size="sm" c="dimmed" mb="sm">
        {isNeeded
          ? 'Sign in to let tasks and chats use this connector.'
          : 'You are signed in. Access tokens are stored encrypted and renewed automatically.'}
      </Text>
      <Group gap="xs">
        <Button
          size="xs"
          variant={isNeeded ? 'filled' : 'default'}
          loading={begin.isPending || begin.isSuccess}
          onClick={() => begin.mutate()}
        >
          {isNeeded ? 'Sign in' : 'Sign in again'}
        </Button>
        {!isNeeded && (
          <ConfirmButton
            label="Sign out"
            ariaLabel={`Sign out of ${name}`}
            title={`Sign out of ${name}?`}
            confirmLabel="Sign out"
            buttonProps={{ size: 'xs' }}
            onConfirm={async () => {
              await client.connectors.signOut({ connectorId: id })
              notifyDone(`Signed out of ${name}.`)
              void queryClient.invalidateQueries({ queryKey: ['connectors'] })
              await queryClient.invalidateQueries({ queryKey: ['connector', id] })
            }}
          >
            This revokes the access. Queued tasks that use it fail and are refunded. Chats that use it reject messages
            until you sign in again.
          </ConfirmButton>
        )}
      </Group>
    </Panel>
  )
}
