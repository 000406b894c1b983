import { Button, Stack } from '@mantine/core'
import { PlusIcon } from '@radix-ui/react-icons'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { client } from '../../../app/api-client.ts'
import { EmptyState } from '../../../parts/empty-state.tsx'
import { PageHeader } from '../../../parts/page-header.tsx'
import { Pager } from '../../../parts/pager.tsx'
import { QueryState } from '../../../parts/query-state.tsx'
import { useOffset, useSearchField } from '../../../parts/hooks/use-search-field.ts'
import classes from '../admin.module.css'
import { AdminsOnlyPage, isForAdminsOnly } from '../admins-only-page.tsx'
import { InvitationTable } from './invitation-table.tsx'
import { InviteDialog } from './invite-dialog.tsx'
import { PastEnd } from '../past-end.tsx'

const limit = 50

export function InvitationsPage() {
  const [offset, setOffset] = useOffset()
  const [dialog, setDialog] = useSearchField('dialog')
  const input = { limit, ...(offset > 0 && { offset }) }
  const invitations = useQuery({
    queryKey: ['invitations', input],
    queryFn: ({ signal }) => client.invitations.list(input, { signal }),
    placeholderData: keepPreviousData,
  })
  if (isForAdminsOnly(invitations.error)) return <AdminsOnlyPage />
  const isStale = invitations.isPlaceholderData
  const inviteButton = (
    <Button leftSection={<PlusIcon aria-hidden />} onClick={() => setDialog('invite')}>
      Invite user
    </Button>
  )
  return (
    <>
      <PageHeader
        title="Invitations"
        description="Links for creating an account or setting a password, newest first. Share them yourself unless the service sends email."
        actions={inviteButton}
      />
      <Stack gap="lg">
        <QueryState
          query={invitations}
          isEmpty={({ total }) => total === 0}
          empty={
            <EmptyState title="No invitations yet" action={inviteButton}>
              New users need an invitation. Create one, optionally with starting credit, and share the link.
            </EmptyState>
          }
        >
          {({ invitations: rows, total }) => (
            <div aria-busy={isStale} className={isStale ? classes.stale : undefined}>
              {rows.length === 0 ? (
                <PastEnd what="invitations" onFirst={() => setOffset(0)} />
              ) : (
                <InvitationTable invitations={rows} />
              )}
              <Pager what="invitations" total={total} limit={limit} offset={offset} onChange={setOffset} />
            </div>
          )}
        </QueryState>
      </Stack>
      <InviteDialog isOpen={dialog === 'invite'} onClose={() => setDialog('')} />
    </>
  )
}
