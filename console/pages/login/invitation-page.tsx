import { Loader, Center, Stack } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { ErrandClientError } from '../../../client/client.ts'
import { brand } from '../../app/read-brand.ts'
import { client } from '../../app/api-client.ts'
import { ErrorNotice } from '../../parts/error-notice.tsx'
import { PageLink } from '../../parts/page-link.tsx'
import { CredentialsForm } from './credentials-form.tsx'
import { enterConsole } from './enter-console.ts'
import { LoginFrame } from './login-frame.tsx'

/** Accepts an invitation or sets a new password. The token follows the # of the link, so that no server logs it. */
export function InvitationPage() {
  const [token] = useState(() => location.hash.slice(1))
  const invitation = useQuery({
    queryKey: ['invitation', token],
    queryFn: ({ signal }) => client.invitations.check({ token }, { signal }),
    enabled: token !== '',
    staleTime: Infinity,
  })
  const entry = useMutation({
    mutationFn: (password: string) => client.invitations.accept({ token, password }),
    onSuccess: () => enterConsole('/'),
  })
  if (token === '' || isGone(invitation.error)) {
    return (
      <LoginFrame title="This link does not work" lead="It has expired, was already used, or is incomplete.">
        <Stack align="center" ta="center">
          Request a new one on the login page, or ask an admin.
          <PageLink href="/login">Go to login</PageLink>
        </Stack>
      </LoginFrame>
    )
  }
  if (invitation.error) {
    return (
      <LoginFrame title="Invitation">
        <ErrorNotice
          title="Could not check the link"
          error={invitation.error}
          onRetry={() => void invitation.refetch()}
          isRetrying={invitation.isFetching}
        />
      </LoginFrame>
    )
  }
  if (!invitation.data) {
    return (
      <LoginFrame title="Invitation">
        <Center>
          <Loader size="sm" aria-label="Checking link" />
        </Center>
      </LoginFrame>
    )
  }
  const { kind, email } = invitation.data
  const isNew = kind !== 'password'
  return (
    <LoginFrame
      title={isNew ? `Welcome to ${brand.name}` : 'Choose a new password'}
      lead={isNew ? 'Choose a password for your account.' : 'You will be logged in right away.'}
    >
      <CredentialsForm
        submitLabel={isNew ? 'Create account' : 'Set password'}
        isNewPassword
        passwordHint="At least 10 characters"
        email={email}
        error={entry.error}
        isPending={entry.isPending}
        onSubmit={({ password }) => entry.mutate(password)}
      />
    </LoginFrame>
  )
}

function isGone(error: unknown): boolean {
  return error instanceof ErrandClientError && (error.status === 404 || error.status === 400)
}
