import { Box, Text, Title } from '@mantine/core'
import { useEffect, useRef, type ReactNode } from 'react'
import type { User } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { leaveConsole } from '../../../app/leave-console.ts'
import { queryClient } from '../../../app/query-client.ts'
import { accountKey } from '../../../app/use-account.ts'
import { notifyDone } from '../../../parts/notify.tsx'
import { Panel } from '../../../parts/panel.tsx'
import { TimeText } from '../../../parts/text/time-text.tsx'
import classes from '../admin.module.css'
import { AdminButton, EraseButton, SuspendButton } from './access-buttons.tsx'
import { keepUser, rereadMoney } from './keep-user.ts'
import { PasswordLinkButton } from './password-link-button.tsx'
import { goTo } from '../../../app/service-url.ts'

export function UserAccess({ user, isOwn }: { user: User; isOwn: boolean }) {
  const { balanceUsd, email, erasedAt, id: userId, isAdmin, isSuspended } = user
  const changeAdmin = async () => {
    const next = await client.users.update({ userId, isAdmin: !isAdmin })
    if (isOwn) goTo('/')
    keepUser(next)
    if (isOwn) void queryClient.invalidateQueries({ queryKey: accountKey })
    notifyDone(next.isAdmin ? `${email} is now an admin.` : `${email} is no longer an admin.`)
  }
  const changeSuspension = async () => {
    const next = await client.users.update({ userId, isSuspended: !isSuspended })
    if (isOwn && next.isSuspended) return leaveConsole('/login?error=suspended')
    keepUser(next)
    notifyDone(next.isSuspended ? `${email} is suspended.` : `${email} is no longer suspended.`)
  }
  const erase = async () => {
    const next = await client.users.erase({ userId, forfeitBalanceUsd: balanceUsd })
    if (isOwn) return leaveConsole()
    keepUser(next)
    rereadMoney(userId)
    notifyDone('User erased.')
  }
  if (erasedAt !== null) {
    return (
      <Panel title="Access">
        <Text c="dimmed" size="sm">
          Erased <TimeText at={erasedAt} isExact />.
        </Text>
      </Panel>
    )
  }
  return (
    <Panel title="Access">
      <Action title="Password" button={<PasswordLinkButton user={user} />} state="password">
        A link for {isOwn ? 'you' : 'the user'} to set a new password.
      </Action>
      <Action
        title="Admin"
        button={<AdminButton key={String(isAdmin)} {...{ user, isOwn }} onConfirm={changeAdmin} />}
        state={String(isAdmin)}
      >
        {isAdmin ? 'Can manage users, balances and invitations, and see system health.' : 'Cannot manage other users.'}
      </Action>
      <Action
        title="Suspension"
        button={<SuspendButton key={String(isSuspended)} {...{ user, isOwn }} onConfirm={changeSuspension} />}
        state={String(isSuspended)}
      >
        {isSuspended ? 'Suspended: logins and API keys do not work.' : 'Not suspended: logins and API keys work.'}
      </Action>
      <Action title="Erasure" button={<EraseButton {...{ user, isOwn }} onConfirm={erase} />} state="erasure">
        Deletes the contents and credentials of the account. Its transactions are kept.
      </Action>
    </Panel>
  )
}

type ActionProps = { title: string; children: ReactNode; button: ReactNode; state: string }

/** Moves focus to the new button when `state` changes, because the change replaces the focused button. */
function Action({ title, children, button, state }: ActionProps) {
  const box = useRef<HTMLDivElement>(null)
  const before = useRef(state)
  useEffect(() => {
    if (before.current === state) return
    before.current = state
    const isLost = document.activeElement === null || document.activeElement === document.body
    if (isLost) box.current?.querySelector('button')?.focus()
  }, [state])
  return (
    <div className={classes.action} ref={box}>
      <Title order={3}>{title}</Title>
      <Text c="dimmed" size="sm" mb="xs">
        {children}
      </Text>
      <Box>{button}</Box>
    </div>
  )
}
