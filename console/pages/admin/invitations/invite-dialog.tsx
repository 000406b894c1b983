import { Button, Group, Modal, Stack, Switch, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useEffect, useRef, useState, type FormEvent } from 'react'
import { ErrandClientError } from '../../../../client/client.ts'
import { formatUsd, parseUsd } from '../../../../server/kernel/money.ts'
import { client } from '../../../app/api-client.ts'
import { queryClient } from '../../../app/query-client.ts'
import { ErrorNotice } from '../../../parts/error-notice.tsx'
import { fieldErrors } from '../../../parts/field-errors.ts'
import { LinkOnce } from '../link-once.tsx'
import { usdText } from '../../../parts/text/usd-text.ts'

type InvitationInput = { email: string; isAdmin: boolean; creditUsd: string }
type Errors = { email?: string; creditUsd?: string }

const names = ['email', 'isAdmin', 'creditUsd']

export function InviteDialog({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  const invite = useMutation({
    mutationFn: (input: InvitationInput) => client.invitations.create(input),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ['invitations'] }),
  })
  const { data: created } = invite
  return (
    <Modal
      opened={isOpen}
      onClose={onClose}
      onExitTransitionEnd={invite.reset}
      closeOnClickOutside={!created}
      closeOnEscape={!created}
      title={created ? 'Share the invitation' : 'Invite user'}
      size="lg"
    >
      {created ? (
        <LinkOnce link={created} email={created.email} isMailed={created.isMailed} onDone={onClose}>
          {created.isAdmin && 'The new user will be an admin. '}
          {created.creditUsd !== '0.0000' && `The account will start with a balance of ${usdText(created.creditUsd)}.`}
        </LinkOnce>
      ) : (
        <InviteForm
          error={invite.error}
          isPending={invite.isPending}
          onChange={invite.reset}
          onCancel={onClose}
          onSubmit={invite.mutate}
        />
      )}
    </Modal>
  )
}

type InviteFormProps = {
  error: unknown
  isPending: boolean
  onChange: () => void
  onCancel: () => void
  onSubmit: (input: InvitationInput) => void
}

function InviteForm({ error, isPending, onChange, onCancel, onSubmit }: InviteFormProps) {
  const [email, setEmail] = useState('')
  const [isAdmin, setAdmin] = useState(false)
  const [credit, setCredit] = useState('')
  const [own, setOwn] = useState<Errors>({})
  const form = useRef<HTMLFormElement>(null)
  const units = credit.trim() === '' ? 0 : parseUsd(credit.trim())
  const isCredit = units !== undefined && units >= 0
  const input = { email: email.trim(), isAdmin, creditUsd: isCredit ? formatUsd(units) : '0.0000' }
  const isTaken = error instanceof ErrandClientError && error.code === 'CONFLICT'
  const { fields, rest } = fieldErrors(error, names)

  useEffect(() => {
    form.current?.querySelector<HTMLInputElement>('input[aria-invalid="true"]')?.focus()
  }, [error, own])
  const changed = () => {
    setOwn({})
    if (error) onChange()
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const errors: Errors = {
      ...(input.email === '' && { email: 'Enter an email address' }),
      ...(!isCredit && {
        creditUsd: 'Enter an amount in USD with at most four decimal places, or leave this field empty',
      }),
    }
    setOwn(errors)
    if (Object.keys(errors).length === 0 && !isPending) onSubmit(input)
  }
  return (
    <form ref={form} onSubmit={submit} noValidate>
      <Stack gap="md">
        {rest && !isTaken && <ErrorNotice title="Could not create the invitation" error={error} />}
        <TextInput
          label="Email"
          description="This replaces any earlier invitation to this address."
          name="email"
          type="email"
          maxLength={254}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          data-autofocus
          value={email}
          onChange={(event) => {
            setEmail(event.currentTarget.value)
            changed()
          }}
          error={own.email ?? (isTaken ? error.message : fields['email'])}
        />
        <TextInput
          label="Starting credit in USD"
          description="Starting balance of the new account. Leave empty for none."
          name="creditUsd"
          inputMode="decimal"
          autoComplete="off"
          placeholder="0.0000"
          leftSection="$"
          maxLength={20}
          value={credit}
          onChange={(event) => {
            setCredit(event.currentTarget.value)
            changed()
          }}
          error={own.creditUsd ?? fields['creditUsd']}
        />
        <Switch
          label="Make this user an admin"
          description="Admins can see all users, change balances, and invite or suspend users."
          checked={isAdmin}
          onChange={(event) => {
            setAdmin(event.currentTarget.checked)
            changed()
          }}
          error={fields['isAdmin']}
        />
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onCancel}>
            Cancel
          </Button>
          <Button type="submit" loading={isPending}>
            Create invite link
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
