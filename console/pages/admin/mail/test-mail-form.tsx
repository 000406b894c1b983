import { Alert, Button, Group, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState, type FormEvent } from 'react'
import { client } from '../../../app/api-client.ts'
import { useAccount } from '../../../app/use-account.ts'
import { ErrorNotice } from '../../../parts/error-notice.tsx'
import { fieldErrors } from '../../../parts/field-errors.ts'

export function TestMailForm() {
  const own = useAccount().data?.email ?? ''
  const [typed, setTyped] = useState<string>()
  const to = typed ?? own
  const test = useMutation({ mutationFn: (address: string) => client.mail.sendTest({ to: address }) })
  const { fields, rest } = fieldErrors(test.error, ['to'])
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!test.isPending) test.mutate(to.trim())
  }
  return (
    <form onSubmit={submit} noValidate>
      <Group align="flex-end">
        <TextInput
          label="Send a test email to"
          type="email"
          autoComplete="off"
          maxLength={254}
          miw={260}
          value={to}
          onChange={(event) => setTyped(event.currentTarget.value)}
          error={fields['to']}
        />
        <Button type="submit" loading={test.isPending}>
          Send test email
        </Button>
      </Group>
      {rest && <ErrorNotice title="Could not send the email" error={test.error} />}
      {test.data && (
        <Alert color={test.data.isAccepted ? 'green' : 'red'} role="status" p="sm" mt="sm">
          {test.data.isAccepted
            ? 'The server accepted the email. Check that it arrives.'
            : `Could not send the email: ${test.data.error}`}
        </Alert>
      )}
    </form>
  )
}
