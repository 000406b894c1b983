import { Alert, Button, Skeleton, Stack, Text } from '@mantine/core'
import { ExclamationTriangleIcon } from '@radix-ui/react-icons'
import { useMutation, useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useParams } from 'wouter'
import { ErrandClientError, type User } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { useAccount } from '../../../app/use-account.ts'
import { PageCode } from '../../../parts/code/page-code.tsx'
import { Snippets } from '../../../parts/code/snippets.tsx'
import { CopyText } from '../../../parts/copy-text.tsx'
import { ErrorNotice } from '../../../parts/error-notice.tsx'
import { KeyValueList } from '../../../parts/key-value-list.tsx'
import { notifyDone } from '../../../parts/notify.tsx'
import { PageHeader } from '../../../parts/page-header.tsx'
import { PageLink } from '../../../parts/page-link.tsx'
import { Panel } from '../../../parts/panel.tsx'
import { QueryState } from '../../../parts/query-state.tsx'
import { TimeText } from '../../../parts/text/time-text.tsx'
import classes from '../admin.module.css'
import { AdminsOnlyPage, isForAdminsOnly } from '../admins-only-page.tsx'
import { focusHeading } from '../../../parts/hooks/focus-heading.ts'
import { UserAccess } from './user-access.tsx'
import { UserBalance } from './user-balance.tsx'
import { keepUser } from './keep-user.ts'
import { useIsAhead, useIsBlocked, UserStates } from './user-states.tsx'
import { UserLimits } from './user-limits.tsx'
import { UserLists } from './user-lists.tsx'

const back = { href: '/admin/users', label: 'Users' }

export function UserPage() {
  const { userId } = useParams<{ userId: string }>()
  const ownId = useAccount().data?.userId
  const user = useQuery({
    queryKey: ['user', userId],
    queryFn: ({ signal }) => client.users.get({ userId }, { signal }),
  })
  if (isForAdminsOnly(user.error)) return <AdminsOnlyPage />
  if (user.error instanceof ErrandClientError && user.error.status === 404) return <UnknownUser userId={userId} />
  const { data } = user
  return (
    <>
      <PageHeader
        title={data?.email ?? 'User'}
        back={back}
        description={data ? <UserStates user={data} isOwn={data.id === ownId} /> : <Skeleton height={26} width={88} />}
      />
      <QueryState query={user}>
        {(known) => (
          <Stack gap="lg">
            <BlockNotice user={known} />
            <div className={classes.columns}>
              <Stack gap="lg" miw={0}>
                <UserBalance key={known.id} user={known} />
                <UserLists userId={known.id} />
              </Stack>
              <Stack gap="lg" miw={0}>
                <Panel title="Account">
                  <KeyValueList
                    rows={[
                      ['User ID', <CopyText key="id" value={known.id} what="user ID" />],
                      ...(known.externalId === null ? [] : [externalIdRow(known.externalId)]),
                      ['Created', <TimeText key="created" at={known.createdAt} isExact />],
                    ]}
                  />
                </Panel>
                <UserLimits key={known.id} user={known} />
                <UserAccess user={known} isOwn={known.id === ownId} />
              </Stack>
            </div>
            <PageCode>
              <Snippets
                isForPlatform
                request={{ method: 'GET', path: `/api/users/${encodeURIComponent(known.id)}` }}
                call={{ method: 'users.get', input: { userId: known.id }, result: 'user' }}
              />
            </PageCode>
          </Stack>
        )}
      </QueryState>
    </>
  )
}

function UnknownUser({ userId }: { userId: string }) {
  return (
    <>
      <PageHeader title="User not found" back={back} />
      <Text>
        No user has the ID {userId}.{' '}
        <PageLink href="/admin/users" underline="always">
          Search users by email
        </PageLink>
      </Text>
    </>
  )
}

function BlockNotice({ user }: { user: User }) {
  const isBlocked = useIsBlocked(user)
  const { blockedUntil, connectorsBlockedUntil } = user
  const hasBlockedConnectors = useIsAhead(connectorsBlockedUntil)
  const unblock = useMutation({
    mutationFn: () => client.users.unblock({ userId: user.id }),
    onSuccess: (next) => {
      keepUser(next)
      notifyDone(`${next.email} unblocked.`)
      focusHeading()
    },
  })
  if (!isBlocked && !hasBlockedConnectors) return null
  return (
    <Alert
      color="yellow"
      title={isBlocked ? 'Blocked after too many failed tasks' : 'Tasks with connectors are blocked'}
      icon={<ExclamationTriangleIcon aria-hidden />}
      variant="light"
    >
      {isBlocked && (
        <Text>
          New tasks of this account are rejected until <TimeText at={blockedUntil!} isExact />. Chats still work. If you
          unblock the user, tasks are accepted immediately and the failure count is reset.
        </Text>
      )}
      {hasBlockedConnectors && (
        <Text>
          A task failed after calling a connector, so new tasks with connectors are rejected until{' '}
          <TimeText at={connectorsBlockedUntil!} isExact />. If you unblock the user, they are accepted immediately.
        </Text>
      )}
      <Button
        size="xs"
        variant="default"
        mt="sm"
        loading={unblock.isPending}
        onClick={() => unblock.mutate()}
        mb={unblock.error ? 'sm' : 0}
      >
        Unblock user
      </Button>
      {unblock.error && <ErrorNotice title="Could not unblock the account" error={unblock.error} />}
    </Alert>
  )
}

function externalIdRow(externalId: string): [string, ReactNode] {
  return ['External ID', <CopyText key="external" value={externalId} what="external ID" />]
}
