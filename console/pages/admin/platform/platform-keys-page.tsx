import { Button, Stack } from '@mantine/core'
import { PlusIcon } from '@radix-ui/react-icons'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { client } from '../../../app/api-client.ts'
import { EmptyState } from '../../../parts/empty-state.tsx'
import { useOffset, useSearchField } from '../../../parts/hooks/use-search-field.ts'
import { PageHeader } from '../../../parts/page-header.tsx'
import { Pager } from '../../../parts/pager.tsx'
import { QueryState } from '../../../parts/query-state.tsx'
import classes from '../admin.module.css'
import { AdminsOnlyPage, isForAdminsOnly } from '../admins-only-page.tsx'
import { PastEnd } from '../past-end.tsx'
import { PlatformKeyDialog } from './platform-key-dialog.tsx'
import { PlatformKeyTable } from './platform-key-table.tsx'

const limit = 50

export function PlatformKeysPage() {
  const [offset, setOffset] = useOffset()
  const [dialog, setDialog] = useSearchField('dialog')
  const input = { limit, ...(offset > 0 && { offset }) }
  const keys = useQuery({
    queryKey: ['platform-keys', input],
    queryFn: ({ signal }) => client.platformKeys.list(input, { signal }),
    placeholderData: keepPreviousData,
  })
  if (isForAdminsOnly(keys.error)) return <AdminsOnlyPage />
  const isStale = keys.isPlaceholderData
  const createButton = (
    <Button leftSection={<PlusIcon aria-hidden />} onClick={() => setDialog('create')}>
      Create platform key
    </Button>
  )
  return (
    <>
      <PageHeader
        title="Platform keys"
        description="Keys for the servers of products built on this service. With a key, a server can create users, grant them credit and act on their behalf."
        actions={createButton}
      />
      <Stack gap="lg">
        <QueryState
          query={keys}
          isEmpty={({ total }) => total === 0}
          empty={
            <EmptyState title="No platform keys yet" action={createButton}>
              Create a platform key if your product has its own users.
            </EmptyState>
          }
        >
          {({ keys: rows, total }) => (
            <div aria-busy={isStale} className={isStale ? classes.stale : undefined}>
              {rows.length === 0 ? (
                <PastEnd what="platform keys" onFirst={() => setOffset(0)} />
              ) : (
                <PlatformKeyTable keys={rows} />
              )}
              <Pager what="platform keys" total={total} limit={limit} offset={offset} onChange={setOffset} />
            </div>
          )}
        </QueryState>
      </Stack>
      <PlatformKeyDialog isOpen={dialog === 'create'} onClose={() => setDialog('')} />
    </>
  )
}
