import { Box, Button, Group, Select, Stack, Text } from '@mantine/core'
import { PlusIcon } from '@radix-ui/react-icons'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { client } from '../../../app/api-client.ts'
import { isFindable } from '../../../app/find-page.ts'
import { useAccount } from '../../../app/use-account.ts'
import { PageCode } from '../../../parts/code/page-code.tsx'
import { Snippets } from '../../../parts/code/snippets.tsx'
import { DataTable, type Column } from '../../../parts/data-table.tsx'
import { EmptyState } from '../../../parts/empty-state.tsx'
import { dayName } from '../../../parts/text/day-name.ts'
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
const orderNames = { created: 'Oldest first', spent: 'Highest spend', active: 'Last active' }

type UserOrder = keyof typeof orderNames
type ListInput = NonNullable<Parameters<typeof client.users.list>[0]>
type ListedUser = Awaited<ReturnType<typeof client.users.list>>['users'][number]

export function UsersPage() {
  const [search] = useSearchField('search')
  const [plan, setPlan] = useSearchField('plan')
  const [orderText, setOrder] = useSearchField('order')
  const order = Object.hasOwn(orderNames, orderText) ? (orderText as UserOrder) : 'created'
  const [offset, setOffset] = useOffset()
  const hasPlans = (useSystem().data?.plans.length ?? 0) > 0
  const ownId = useAccount().data?.userId
  const isId = isFindable(search, { isAdmin: true, userId: ownId ?? '' })
  const input: ListInput = {
    ...(search !== '' && { search }),
    ...(plan !== '' && { plan }),
    ...(order !== 'created' && { order }),
    limit,
    ...(offset > 0 && { offset }),
  }
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
        description="All accounts. Spend is charges minus refunds in the last 30 days (UTC)."
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
            <Select
              aria-label="Sort by"
              data={Object.entries(orderNames).map(([value, label]) => ({ value, label }))}
              value={order}
              onChange={(next) => setOrder(next === null || next === 'created' ? '' : next)}
              allowDeselect={false}
              w={160}
            />
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
                      columns={columnsOf(ownId, order).filter(({ id }) => hasPlans || id !== 'plan')}
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

function toQuery(input: object): Record<string, string> {
  return Object.fromEntries(Object.entries(input).map(([name, value]) => [name, String(value)]))
}

/** Shows an amount that is usually zero. A zero is dimmed. */
function RareMoney({ usd }: { usd: string }) {
  return <Money usd={usd} {...(usd === '0.0000' && { c: 'dimmed' })} isExact />
}

function columnsOf(ownId: string | undefined, order: UserOrder): Column<ListedUser>[] {
  // A phone has room for only one of these columns, so show the one that determines the order.
  const phoneOf = (column: UserOrder) => (column === order ? 'end' : 'hidden')
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
      id: 'spent',
      phone: phoneOf('spent'),
      label: 'Spend, 30 days',
      align: 'right',
      cell: ({ spentUsd }) => <RareMoney usd={spentUsd} />,
    },
    {
      id: 'written-off',
      phone: 'hidden',
      label: 'Written off',
      align: 'right',
      cell: ({ writtenOffUsd }) => <RareMoney usd={writtenOffUsd} />,
    },
    {
      id: 'active',
      phone: phoneOf('active'),
      label: 'Last active',
      align: 'right',
      cell: ({ activeOn }) => (activeOn === null ? 'Never' : dayName(activeOn, 'long')),
    },
    {
      id: 'created',
      phone: phoneOf('created'),
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
