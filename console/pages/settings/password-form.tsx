import { Alert, Button, Group, Stack, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState, type FormEvent } from 'react'
import { ErrandClientError } from '../../../client/client.ts'
import { client } from '../../app/api-client.ts'
import { queryClient } from '../../app/query-client.ts'
import { ErrorNotice } from '../../parts/error-notice.tsx'
import { waitText } from '../../parts/text/error-text.ts'
import { fieldErrors } from '../../parts/field-errors.ts'
import { notifyDone } from '../../parts/notify.tsx'
import { PageLink } from '../../parts/page-link.tsx'
import { PasswordField } from '../../parts/password-field.tsx'
import { useWait } from '../../parts/hooks/use-wait.ts'
import { useOwnErrors } from './use-own-errors.ts'

const charsMin = 10
const charsMax = 200
const empty = { currentPassword: '', newPassword: '', repeated: '' }
type Field = keyof typeof empty

export function PasswordForm({ email }: { email: string }) {
  const [values, setValues] = useState(empty)
  const change = useMutation({
    mutationFn: (input: { currentPassword: string; newPassword: string }) => client.account.changePassword(input),
    onSuccess: () => {
      setValues(empty)
      notifyDone('Password changed. All other browsers were logged out.')
      void queryClient.invalidateQueries({ queryKey: ['logins'] })
    },
  })
  const wait = useWait(change.error)
  const { form, own, accept, clear } = useOwnErrors(change.error)
  const { fields, rest } = fieldErrors(change.error, ['currentPassword', 'newPassword'])
  const isThrottled = change.error instanceof ErrandClientError && change.error.status === 429

  const field = (name: Field) => ({
    name,
    value: values[name],
    onChange: (event: { currentTarget: { value: string } }) => {
      setValues({ ...values, [name]: event.currentTarget.value })
      clear([name])
    },
    error: own[name] ?? fields[name],
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    change.reset()
    if (!accept(check(values, email))) return
    const { currentPassword, newPassword } = values
    change.mutate({ currentPassword, newPassword })
  }

  return (
    <form ref={form} method="post" onSubmit={submit} noValidate>
      <Stack gap="md">
        {isThrottled && wait > 0 && (
          <Alert color="red" variant="light" role="alert" title="Too many wrong passwords">
            The password was not changed. Wait before you try again.
          </Alert>
        )}
        {rest && !isThrottled && <ErrorNotice title="Could not change the password" error={change.error} />}
        {/* Tells the password manager which account the password belongs to. */}
        <input type="text" name="username" autoComplete="username" value={email} readOnly hidden />
        <PasswordField label="Current password" autoComplete="current-password" {...field('currentPassword')} />
        <PasswordField
          label="New password"
          description="At least 10 characters. Do not use your email address."
          autoComplete="new-password"
          {...field('newPassword')}
        />
        <PasswordField label="Confirm new password" autoComplete="new-password" {...field('repeated')} />
        <Text size="sm" c="dimmed">
          All{' '}
          <PageLink href="/settings/logins" inherit underline="always">
            other logins
          </PageLink>{' '}
          end when you change the password. This browser stays logged in.
        </Text>
        <Group>
          <Button type="submit" loading={change.isPending} disabled={wait > 0}>
            {wait > 0 ? `Try again in ${waitText(wait)}` : 'Change password'}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

function check({ currentPassword, newPassword, repeated }: typeof empty, email: string): Partial<typeof empty> {
  const ofNew =
    newPassword.length < charsMin
      ? `Enter at least ${charsMin} characters`
      : newPassword.length > charsMax
        ? `Enter at most ${charsMax} characters`
        : newPassword.toLowerCase() === email.toLowerCase()
          ? 'Must not be your email address'
          : undefined
  return {
    ...(currentPassword === '' && { currentPassword: 'Enter your current password' }),
    ...(ofNew !== undefined && { newPassword: ofNew }),
    ...(ofNew === undefined && repeated !== newPassword && { repeated: 'The passwords do not match' }),
  }
}
