import { Group, Text } from '@mantine/core'
import { ErrandClientError, type Invitation } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { queryClient } from '../../../app/query-client.ts'
import { ConfirmButton } from '../../../parts/confirm-button.tsx'
import { DataTable, type Column } from '../../../parts/data-table.tsx'
import { Money } from '../../../parts/text/money.tsx'
import { notifyDone, notifyError } from '../../../parts/notify.tsx'
import { PageLink } from '../../../parts/page-link.tsx'
import { StatusBadge } from '../../../parts/status-badge.tsx'
import { TimeText } from '../../../parts/text/time-text.tsx'
import { useNow } from '../../../parts/hooks/use-now.ts'
import { focusHeading } from '../../../parts/hooks/focus-heading.ts'
import { RoleBadge } from '../users/user-states.tsx'

export function InvitationTable({ invitations }: { invitations: readonly Invitation[] }) {
  const now = useNow()
  return (
    <DataTable
      caption="Invitations and links"
      columns={columnsAt(now)}
      rows={invitations}
      rowKey={({ id }) => id}
      isWide
    />
  )
}

const kindNames: Record<Invitation['kind'], string> = {
  invitation: 'Invitation',
  'sign-up': 'Sign-up link',
  password: 'Password link',
}

function columnsAt(now: number): Column<Invitation>[] {
  return [
    {
      id: 'email',
      label: 'Email',
      cell: ({ acceptedAt, email, kind }) =>
        acceptedAt !== null || kind === 'password' ? (
          <PageLink href={`/admin/users?search=${encodeURIComponent(email)}`}>{email}</PageLink>
        ) : (
          email
        ),
    },
    {
      id: 'kind',
      label: 'Type',
      cell: ({ isAdmin, kind }) => (
        <Group gap={6}>
          {kindNames[kind]}
          {isAdmin && kind === 'invitation' && <RoleBadge>Admin</RoleBadge>}
        </Group>
      ),
    },
    {
      id: 'credit',
      label: 'Credit',
      align: 'right',
      cell: ({ creditUsd, kind }) =>
        kind !== 'invitation' ? (
          <Text component="span" inherit c="dimmed">
            –
          </Text>
        ) : (
          <Money usd={creditUsd} {...(creditUsd === '0.0000' && { c: 'dimmed' })} />
        ),
    },
    { id: 'state', label: 'Status', cell: (invitation) => <State invitation={invitation} now={now} /> },
    { id: 'created', label: 'Created', cell: ({ createdAt }) => <TimeText at={createdAt} /> },
    {
      id: 'expires',
      label: 'Expires',
      cell: ({ acceptedAt, expiresAt }) => (acceptedAt === null ? <TimeText at={expiresAt} /> : '–'),
    },
    {
      id: 'actions',
      label: 'Actions',
      isLabelHidden: true,
      align: 'right',
      cell: (invitation) => <RevokeButton invitation={invitation} now={now} />,
    },
  ]
}

function State({ invitation: { acceptedAt, expiresAt, kind }, now }: { invitation: Invitation; now: number }) {
  if (acceptedAt !== null) {
    return (
      <Group gap={6}>
        <StatusBadge status="accepted" label={kind === 'password' ? 'Used' : 'Accepted'} />
        <Text component="span" size="sm" c="dimmed">
          <TimeText at={acceptedAt} />
        </Text>
      </Group>
    )
  }
  if (Date.parse(expiresAt) <= now) return <StatusBadge status="expired" />
  return <StatusBadge status="pending" label="Open" />
}

function RevokeButton({ invitation, now }: { invitation: Invitation; now: number }) {
  const { acceptedAt, email, expiresAt, id, kind } = invitation
  if (acceptedAt !== null) return null
  const what = kindNames[kind].toLowerCase()
  const isExpired = Date.parse(expiresAt) <= now
  const verb = isExpired ? 'Remove' : 'Revoke'
  return (
    <ConfirmButton
      label={verb}
      ariaLabel={`${verb} ${what} for ${email}`}
      title={`${verb} ${what} for ${email}?`}
      confirmLabel={verb}
      onConfirm={async () => {
        await revoke(id)
        focusHeading()
        await queryClient.invalidateQueries({ queryKey: ['invitations'] })
      }}
    >
      {isExpired
        ? 'The link has already expired, so this only removes it from the list.'
        : 'The link stops working immediately. You can create another link at any time.'}
    </ConfirmButton>
  )
}

/**
 * Revokes an invitation. If it has already been accepted or removed, shows a notification, because its row disappears
 * from the list.
 */
async function revoke(invitationId: string): Promise<void> {
  try {
    const { message } = await client.invitations.revoke({ invitationId })
    notifyDone(message)
  } catch (error) {
    if (!(error instanceof ErrandClientError) || error.status !== 404) throw error
    notifyError('Could not revoke the link, because it was already used or revoked', error)
  }
}
