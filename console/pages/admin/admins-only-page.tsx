import { Button } from '@mantine/core'
import { ErrandClientError } from '../../../client/client.ts'
import { useAccount } from '../../app/use-account.ts'
import { PageHeader } from '../../parts/page-header.tsx'
import { RouterLink } from '../../parts/router-link.tsx'

export function AdminsOnlyPage() {
  const email = useAccount().data?.email
  return (
    <>
      <PageHeader
        title="Admins only"
        description={
          <>
            {email ? `${email} is not an admin.` : 'You are not an admin.'} To use this page, ask an admin for admin
            rights.
          </>
        }
      />
      <Button component={RouterLink} href="/">
        Go to overview
      </Button>
    </>
  )
}

/** Whether the service rejected the request because the user is no longer an admin. */
export function isForAdminsOnly(error: unknown): boolean {
  return error instanceof ErrandClientError && error.status === 403
}
