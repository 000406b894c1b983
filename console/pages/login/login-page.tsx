import { Alert, Button, Divider, Stack, Text } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useSearch } from 'wouter'
import { useHistoryState } from 'wouter/use-browser-location'
import { brand } from '../../app/read-brand.ts'
import { client } from '../../app/api-client.ts'
import { PageLink } from '../../parts/page-link.tsx'
import { wasLoggedOut } from '../../app/query-client.ts'
import { CredentialsForm, type Credentials } from './credentials-form.tsx'
import { enterConsole, returnPath } from './enter-console.ts'
import { loginErrorOf } from './login-error.ts'
import { LoginFrame } from './login-frame.tsx'
import { basePath } from '../../app/service-url.ts'

export function LoginPage() {
  const search = useSearch()
  const options = useQuery({
    queryKey: ['login-options'],
    queryFn: ({ signal }) => client.login.options({ signal }),
    staleTime: Infinity,
  })
  const login = useMutation({
    mutationFn: (input: Credentials) => client.login.create(input),
    onSuccess: () => enterConsole(returnPath()),
  })
  const providers = options.data?.providers ?? []
  // Once the user has tried a password login, the single sign-on error is outdated.
  const comesBackWith = login.isIdle ? loginErrorOf(search) : undefined
  const isLoggedOut = useHistoryState<unknown>() === wasLoggedOut
  return (
    <LoginFrame title={`Log in to ${brand.name}`} lead="Run agents and see what each one costs.">
      <Stack gap="md">
        {isLoggedOut && (
          <Alert color="yellow" role="alert" p="sm">
            You were logged out. Your login expired or was ended, or your account was suspended.
          </Alert>
        )}
        {comesBackWith && (
          <Alert color="red" role="alert" p="sm">
            {comesBackWith}
          </Alert>
        )}
        <CredentialsForm
          submitLabel="Log in"
          isNewPassword={false}
          error={login.error}
          isPending={login.isPending}
          onSubmit={(credentials) => login.mutate(credentials)}
        />
        {providers.length > 0 && <Divider label="or" labelPosition="center" />}
        {providers.map(({ id, name, url }) => (
          <Button key={id} component="a" href={withReturn(url)} variant="default" fullWidth>
            Continue with {name}
          </Button>
        ))}
        <Text ta="center" size="sm" c="dimmed">
          {options.data?.canResetPassword ? (
            <PageLink href="/forgot-password">Forgot password?</PageLink>
          ) : (
            'Forgot your password? An admin can send you a link.'
          )}
          <br />
          {options.data?.canSignUp ? (
            <PageLink href="/sign-up">Create an account</PageLink>
          ) : (
            'New accounts need an invitation from an admin.'
          )}
        </Text>
      </Stack>
    </LoginFrame>
  )
}

function withReturn(url: string): string {
  const path = returnPath()
  return basePath + (path === '/' ? url : `${url}?returnTo=${encodeURIComponent(path)}`)
}
