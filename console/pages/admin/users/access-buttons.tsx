import { Alert, List } from '@mantine/core'
import { ExclamationTriangleIcon } from '@radix-ui/react-icons'
import type { ReactNode } from 'react'
import type { User } from '../../../../client/client.ts'
import { ConfirmButton } from '../../../parts/confirm-button.tsx'
import { Money } from '../../../parts/text/money.tsx'

type AccessButtonProps = { user: User; isOwn: boolean; onConfirm: () => Promise<unknown> }

export function SuspendButton({ user: { email, isSuspended }, isOwn, onConfirm }: AccessButtonProps) {
  if (isSuspended) {
    return (
      <ConfirmButton label="Unsuspend" title={`Unsuspend ${email}?`} confirmLabel="Unsuspend" onConfirm={onConfirm}>
        The user can log in again, and the account's API keys work again. Browsers logged out by the suspension stay
        logged out.
      </ConfirmButton>
    )
  }
  return (
    <ConfirmButton
      label={isOwn ? 'Suspend my account' : 'Suspend'}
      title={isOwn ? 'Suspend your account?' : `Suspend ${email}?`}
      confirmLabel={isOwn ? 'Suspend my account' : 'Suspend'}
      onConfirm={onConfirm}
    >
      {isOwn && <OwnWarning>You will be logged out immediately. Only another admin can undo this.</OwnWarning>}
      Takes effect immediately:
      <List mt={4} spacing={4}>
        <List.Item>All browsers are logged out.</List.Item>
        <List.Item>API keys are rejected.</List.Item>
        <List.Item>Running tasks and chats continue and are charged.</List.Item>
        <List.Item>Pending invitations from {isOwn ? 'you' : 'this user'} are revoked.</List.Item>
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
        Admins can see all users, change balances, invite and suspend users, and remove your admin rights.
      </ConfirmButton>
    )
  }
  return (
    <ConfirmButton
      label={isOwn ? 'Remove my admin rights' : 'Remove admin rights'}
      title={isOwn ? 'Remove your admin rights?' : `Remove admin rights from ${email}?`}
      confirmLabel={isOwn ? 'Remove my admin rights' : 'Remove admin rights'}
      onConfirm={onConfirm}
    >
      {isOwn && (
        <OwnWarning>You will lose access to these pages immediately. Only another admin can undo this.</OwnWarning>
      )}
      The account is otherwise unchanged. Unused invitations and password links from {isOwn ? 'you' : 'this user'} are
      revoked.
    </ConfirmButton>
  )
}

export function EraseButton({ user: { balanceUsd, email }, isOwn, onConfirm }: AccessButtonProps) {
  return (
    <ConfirmButton label="Erase user" title={`Erase ${email}?`} confirmLabel="Erase user" onConfirm={onConfirm}>
      {isOwn && <OwnWarning>You will be logged out immediately.</OwnWarning>}
      This cannot be undone:
      <List mt={4} spacing={4}>
        <List.Item>All logins and API keys stop working immediately.</List.Item>
        <List.Item>Tasks, chats, webhooks and connectors are deleted.</List.Item>
        {Number(balanceUsd) > 0 && (
          <List.Item>
            The balance of <Money usd={balanceUsd} /> is written off.
          </List.Item>
        )}
        <List.Item>Transactions remain, without the email address.</List.Item>
      </List>
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
