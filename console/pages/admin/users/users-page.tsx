import { Box, Button, Group, Stack, Text } from '@mantine/core'
import { PlusIcon } from '@radix-ui/react-icons'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import type { User } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { isFindable } from '../../../app/find-page.ts'
import { useAccount } from '../../../app/use-account.ts'
import { PageCode } from '../../../parts/code/page-code.tsx'
import { Snippets } from '../../../parts/code/snippets.tsx'
import { DataTable, type Column } from '../../../parts/data-table.tsx'
import { EmptyState } from '../../../parts/empty-state.tsx'
import { Money } from '../../../parts/text/money.tsx'
import { PageHeader } from '../../../parts/page-header.tsx'
import { PageLink } from '../../../parts/page-link.tsx'
import { Pager } from '../../../parts/pager.tsx'
import { QueryState } from '../../../parts/query-state.tsx'
import { RouterLink } from '../../../parts/router-link.tsx'
import { TimeText } from '../../../parts/text/time-text.tsx'
import { useOffset, useSearchField } from '../../../parts/hooks/use-search-field.ts'
import classes from '../admin.module.css'
import { AdminsOnlyPage, isForAdminsOnly } from '../admins-only-page.tsx'
import { SearchBox } from '../../../parts/search-box.tsx'
import { inviteHref } from '../invitations/invite-href.ts'
import { PastEnd } from '../past-end.tsx'
import { PlanSelect } from '../plans/plan-select.tsx'
import { useSystem } from '../system/use-system.ts'
import { OwnerOf } from './owner-of.tsx'
import { UserStates } from './user-states.tsx'

const limit = 50

export function UsersPage() {
  const [search] = useSearchField('search')
  const [plan, setPlan] = useSearchField('plan')
  const [offset, setOffset] = useOffset()
  const hasPlans = (useSystem().data?.plans.length ?? 0) > 0
  const ownId = useAccount().data?.userId
  const isId = isFindable(search, { isAdmin: true, userId: ownId ?? '' })
  const input = { ...(search !== '' && { search }), ...(plan !== '' && { plan }), limit, ...(offset > 0 && { offset }) }
  const users = useQuery({
    queryKey: ['users', input],
    queryFn: ({ signal }) => client.users.list(input, { signal }),
    placeholderData: keepPreviousData,
    enabled: !isId,
  })
  if (isForAdminsOnly(users.error)) return <AdminsOnlyPage />
  const nobody = (
    <EmptyState
      title={search === '' ? `No users with the plan ${plan}` : `No email address contains “${search}”`}
      action={
        <Group gap="xs" justify="center">
          <Button variant="default" component={RouterLink} href="/admin/users">
            Show all users
          </Button>
          <Button component={RouterLink} href={inviteHref}>
            Invite user
          </Button>
        </Group>
      }
    >
      {search === '' ? 'Choose another plan.' : 'Search for a different part of the address, or invite the user.'}
    </EmptyState>
  )
  return (
    <>
      <PageHeader
        title="Users"
        description="All accounts, oldest first."
        actions={
          <Button component={RouterLink} href={inviteHref} leftSection={<PlusIcon aria-hidden />}>
            Invite user
          </Button>
        }
      />
      <Stack gap="lg">
        <Box>
          <Group mb="sm" gap="sm">
            <SearchBox label="Search by email or ID" />
            {hasPlans && <PlanSelect aria-label="Plan" none={() => 'All plans'} value={plan} onChange={setPlan} />}
          </Group>
          {isId ? (
            <OwnerOf id={search} />
          ) : (
            <QueryState query={users} isEmpty={({ total }) => total === 0} empty={nobody}>
              {({ total, users: rows }) => (
                <div
                  aria-busy={users.isPlaceholderData}
                  className={users.isPlaceholderData ? classes.stale : undefined}
                >
                  {rows.length === 0 ? (
                    <PastEnd what="users" onFirst={() => setOffset(0)} />
                  ) : (
                    <DataTable
                      caption="Users"
                      columns={columnsOf(ownId).filter(({ id }) => hasPlans || id !== 'plan')}
                      rows={rows}
                      rowKey={({ id }) => id}
                    />
                  )}
                  <Pager what="users" total={total} limit={limit} offset={offset} onChange={setOffset} />
                </div>
              )}
            </QueryState>
          )}
        </Box>
        <PageCode>
          <Snippets
            isForPlatform
            request={{ method: 'GET', path: `/api/users?${new URLSearchParams(toQuery(input))}` }}
            call={{ method: 'users.list', input, result: 'page' }}
          />
        </PageCode>
      </Stack>
    </>
  )
}

function toQuery(input: Record<string, string | number>): Record<string, string> {
  return Object.fromEntries(Object.entries(input).map(([name, value]) => [name, String(value)]))
}

/** Shows an amount that is usually zero. A zero is dimmed. */
function RareMoney({ usd }: { usd: string }) {
  return <Money usd={usd} {...(usd === '0.0000' && { c: 'dimmed' })} isExact />
}

function columnsOf(ownId: string | undefined): Column<User>[] {
  return [
    {
      id: 'email',
      phone: 'title',
      label: 'Email',
      cell: ({ email, externalId, id }) => (
        <>
          <PageLink href={`/admin/users/${encodeURIComponent(id)}`}>{email}</PageLink>
          {externalId !== null && (
            <Text size="sm" c="dimmed">
              {externalId}
            </Text>
          )}
        </>
      ),
    },
    {
      id: 'state',
      label: 'Status',
      phone: 'line',
      cell: (user) => <UserStates user={user} isOwn={user.id === ownId} />,
    },
    { id: 'plan', phone: 'hidden', label: 'Plan', cell: ({ plan }) => plan ?? 'Default' },
    {
      id: 'balance',
      label: 'Balance',
      align: 'right',
      phone: 'aside',
      cell: ({ balanceUsd }) => <Money usd={balanceUsd} isExact />,
    },
    {
      id: 'held',
      phone: 'hidden',
      label: 'Held',
      align: 'right',
      cell: ({ heldUsd }) => <RareMoney usd={heldUsd} />,
    },
    {
      id: 'written-off',
      phone: 'hidden',
      label: 'Written off',
      align: 'right',
      cell: ({ writtenOffUsd }) => <RareMoney usd={writtenOffUsd} />,
    },
    {
      id: 'created',
      phone: 'end',
      label: 'Created',
      align: 'right',
      cell: ({ createdAt }) => (
        <span className={classes.nowrap}>
          <TimeText at={createdAt} />
        </span>
      ),
    },
  ]
}
