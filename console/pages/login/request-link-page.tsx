import { Alert, Button, Stack, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useEffect, useRef, useState, type FormEvent } from 'react'
import { fieldErrors } from '../../parts/field-errors.ts'
import { PageLink } from '../../parts/page-link.tsx'
import { EmailField } from './email-field.tsx'
import { LoginFrame } from './login-frame.tsx'

type RequestLinkPageProps = {
  title: string
  lead: string
  /** Shown after the request. Must be true whether or not the address has an account. */
  sent: string
  send: (input: { email: string }) => Promise<unknown>
}

/** Requests a link by email. The response does not reveal whether the address has an account. */
export function RequestLinkPage({ lead, send, sent, title }: RequestLinkPageProps) {
  const [email, setEmail] = useState('')
  const [isEmpty, setEmpty] = useState(false)
  const field = useRef<HTMLInputElement>(null)
  const request = useMutation({ mutationFn: send })
  const { fields, rest } = fieldErrors(request.error, ['email'])
  const error = isEmpty ? 'Enter your email' : fields['email']

  useEffect(() => {
    field.current?.focus()
  }, [error])

  const submit = (event: FormEvent) => {
    event.preventDefault()
    const address = email.trim()
    setEmpty(address === '')
    if (address !== '' && !request.isPending) request.mutate({ email: address })
  }
  if (request.isSuccess) {
    return (
      <LoginFrame title="Check your email">
        <Stack align="center" ta="center">
          <Text role="status">{sent}</Text>
          <PageLink href="/login">Go to login</PageLink>
        </Stack>
      </LoginFrame>
    )
  }
  return (
    <LoginFrame title={title} lead={lead}>
      <form onSubmit={submit} noValidate>
        <Stack gap="md">
          {rest && (
            <Alert color="red" role="alert" p="sm">
              {rest}
            </Alert>
          )}
          <EmailField ref={field} value={email} onChange={setEmail} error={error} />
          <Button type="submit" fullWidth loading={request.isPending}>
            Send link
          </Button>
          <PageLink href="/login" ta="center">
            Back to login
          </PageLink>
        </Stack>
      </form>
    </LoginFrame>
  )
}
