import { Alert, Button, Stack } from '@mantine/core'
import { useEffect, useRef, useState, type FormEvent } from 'react'
import { waitText } from '../../parts/text/error-text.ts'
import { fieldErrors } from '../../parts/field-errors.ts'
import { PasswordField } from '../../parts/password-field.tsx'
import { useWait } from '../../parts/hooks/use-wait.ts'
import { EmailField } from './email-field.tsx'

export type Credentials = { email: string; password: string }
type CredentialsFormProps = {
  submitLabel: string
  /** Whether the password manager should suggest a new password instead of filling in the current one. */
  isNewPassword: boolean
  /** Email address of an invitation, which the user cannot change. */
  email?: string
  /** Password rules, shown before the user submits the form. */
  passwordHint?: string
  error: unknown
  isPending: boolean
  onSubmit: (credentials: Credentials) => void
}

export function CredentialsForm(props: CredentialsFormProps) {
  const { submitLabel, isNewPassword, email: fixedEmail, error: given, passwordHint, isPending, onSubmit } = props
  const [email, setEmail] = useState(fixedEmail ?? '')
  const [password, setPassword] = useState('')
  const [missing, setMissing] = useState<readonly string[]>([])
  const form = useRef<HTMLFormElement>(null)
  const [sent, setSent] = useState('')
  // A rate-limit error applies only to the email address for which it was received.
  const isOfAnother = useWait(given) > 0 && email.trim().toLowerCase() !== sent
  const error = isOfAnother ? undefined : given
  const wait = useWait(error)
  const { fields, rest } = fieldErrors(error, ['email', 'password'])
  const errorOf = (name: string) => (missing.includes(name) ? `Enter your ${name}` : fields[name])

  useEffect(() => {
    form.current?.querySelector<HTMLInputElement>('input:not([readonly])')?.focus()
  }, [])

  // Focus the first invalid field, whether the form or the service found the error.
  useEffect(() => {
    form.current?.querySelector<HTMLInputElement>('input[aria-invalid="true"]')?.focus()
  }, [error, missing])

  const submit = (event: FormEvent) => {
    event.preventDefault()
    const empty = Object.entries({ email, password }).flatMap(([name, value]) => (value.trim() === '' ? [name] : []))
    setMissing(empty)
    if (empty.length > 0 || wait > 0) return
    setSent(email.trim().toLowerCase())
    onSubmit({ email: email.trim(), password })
  }

  return (
    <form ref={form} method="post" onSubmit={submit} noValidate>
      <Stack gap="md">
        {rest && (
          <Alert color="red" role="alert" p="sm">
            {rest}
          </Alert>
        )}
        <EmailField readOnly={fixedEmail !== undefined} value={email} onChange={setEmail} error={errorOf('email')} />
        <PasswordField
          label="Password"
          description={passwordHint}
          name="password"
          autoComplete={isNewPassword ? 'new-password' : 'current-password'}
          required
          withAsterisk={false}
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
          error={errorOf('password')}
        />
        <Button type="submit" fullWidth loading={isPending} disabled={wait > 0}>
          {wait > 0 ? `Try again in ${waitText(wait)}` : submitLabel}
        </Button>
      </Stack>
    </form>
  )
}
