import { Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { ErrandClientError, type Owner } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { pageOf } from '../../../app/find-page.ts'
import { useAccount } from '../../../app/use-account.ts'
import { EmptyState } from '../../../parts/empty-state.tsx'
import { AdminsOnlyPage, isForAdminsOnly } from '../admins-only-page.tsx'
import { PageLink } from '../../../parts/page-link.tsx'
import { QueryState } from '../../../parts/query-state.tsx'

const names: Readonly<Record<Owner['type'], string>> = {
  user: 'User',
  task: 'Task',
  session: 'Chat',
  chat: 'Chat turn',
  transaction: 'Transaction',
  topup: 'Top-up',
  key: 'API key',
  connector: 'Connector',
  webhook: 'Webhook',
}

export function OwnerOf({ id }: { id: string }) {
  const ownId = useAccount().data?.userId
  const owner = useQuery({
    queryKey: ['owner', id],
    queryFn: ({ signal }) => client.users.findOwner({ resourceId: id }, { signal }),
  })
  if (isForAdminsOnly(owner.error)) return <AdminsOnlyPage />
  if (owner.error instanceof ErrandClientError && owner.error.status === 404) {
    return <EmptyState title="No resource has this ID" />
  }
  return (
    <QueryState query={owner}>
      {(known) => (
        <Text>
          {names[known.type]} of {known.email}:{' '}
          <PageLink href={pageOf(id, { owner: known, ownId })} underline="always">
            Open {id}
          </PageLink>
        </Text>
      )}
    </QueryState>
  )
}
