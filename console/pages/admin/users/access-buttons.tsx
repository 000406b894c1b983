import { Alert, List } from '@mantine/core'
import { ExclamationTriangleIcon } from '@radix-ui/react-icons'
import type { ReactNode } from 'react'
import type { User } from '../../../../client/client.ts'
import { ConfirmButton } from '../../../parts/confirm-button.tsx'

type AccessButtonProps = { user: User; isOwn: boolean; onConfirm: () => Promise<unknown> }

export function SuspendButton({ user: { email, isSuspended }, isOwn, onConfirm }: AccessButtonProps) {
  if (isSuspended) {
    return (
      <ConfirmButton
        label="End the suspension"
        title={`End the suspension of ${email}?`}
        confirmLabel="End the suspension"
        onConfirm={onConfirm}
      >
        The person can log in again and the keys of the account work again, all from the next request on. Logins that
        the suspension ended stay ended.
      </ConfirmButton>
    )
  }
  return (
    <ConfirmButton
      label={isOwn ? 'Suspend your own account' : 'Suspend'}
      title={isOwn ? 'Suspend your own account?' : `Suspend ${email}?`}
      confirmLabel={isOwn ? 'Suspend myself' : 'Suspend'}
      onConfirm={onConfirm}
    >
      {isOwn && (
        <OwnWarning>
          You are logged out at once and cannot undo this yourself: another admin has to end the suspension.
        </OwnWarning>
      )}
      From the next request on:
      <List mt={4} spacing={4}>
        <List.Item>All browser logins of the account end.</List.Item>
        <List.Item>Its API keys are refused.</List.Item>
        <List.Item>Tasks and chats that are running go on, and are charged.</List.Item>
        <List.Item>Invitations that {isOwn ? 'you' : 'the person'} made and that nobody accepted end.</List.Item>
      </List>
    </ConfirmButton>
  )
}

export function AdminButton({ user: { email, isAdmin }, isOwn, onConfirm }: AccessButtonProps) {
  if (!isAdmin) {
    return (
      <ConfirmButton
        label="Make admin"
        title={`Make ${email} an admin?`}
        confirmLabel="Make admin"
        onConfirm={onConfirm}
      >
        An admin sees all users, changes balances, invites and suspends people, and can take away your own rights.
      </ConfirmButton>
    )
  }
  return (
    <ConfirmButton
      label={isOwn ? 'Stop being an admin' : 'Take admin away'}
      title={isOwn ? 'Stop being an admin?' : `Take admin away from ${email}?`}
      confirmLabel={isOwn ? 'Stop being an admin' : 'Take admin away'}
      onConfirm={onConfirm}
    >
      {isOwn && (
        <OwnWarning>
          You lose these pages at once and cannot undo this yourself: another admin has to make you one again.
        </OwnWarning>
      )}
      The account itself goes on as before. Invitations and password links that {isOwn ? 'you' : 'the person'} made and
      that nobody used end.
    </ConfirmButton>
  )
}

function OwnWarning({ children }: { children: ReactNode }) {
  return (
    <Alert color="red" title="This is your own account" icon={<ExclamationTriangleIcon aria-hidden />} mb="sm">
      {children}
    </Alert>
  )
}
