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

/** Outcomes with which the service redirects the browser after a sign-in. */
const ends: Record<string, string> = {
  expired: 'It took too long, was begun anew, or the connector was changed meanwhile. Sign in once more.',
  'no-login': 'There was no login of Errand in the browser that came back. Log in, then sign in once more.',
  'other-login': 'It was begun by another login than the one that came back. Sign in once more, in one browser.',
  denied: 'Access was not given at the server.',
  failed: 'The server did not give access.',
}

/** Sign-in status of the connector at its server, with a button to sign in. */
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
        <Alert color="red" title="You are not signed in by this" role="alert" mb="md">
          {ends[end]}
        </Alert>
      )}
      {begin.error && <ErrorNotice title="The sign-in could not begin" error={begin.error} />}
      <Text size="sm" c="dimmed" mb="sm">
        {isNeeded
          ? 'Its server asks who you are. You are sent there, and come back to this page; until then no task or chat can use it.'
          : 'You are signed in at its server. The access that it gave is renewed by itself, and kept encrypted.'}
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
              notifyDone(`You are signed out of ${name}.`)
              void queryClient.invalidateQueries({ queryKey: ['connectors'] })
              await queryClient.invalidateQueries({ queryKey: ['connector', id] })
            }}
          >
            Its access is given back. Tasks that wait and name it fail and are refunded; chats of sessions that name it
            are refused until you sign in again.
          </ConfirmButton>
        )}
      </Group>
    </Panel>
  )
}
