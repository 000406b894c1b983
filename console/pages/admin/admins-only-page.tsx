import { Button } from '@mantine/core'
import { ErrandClientError } from '../../../client/client.ts'
import { useAccount } from '../../app/use-account.ts'
import { PageHeader } from '../../parts/page-header.tsx'
import { RouterLink } from '../../parts/router-link.tsx'

/** In place of a page of the admins for everybody else, and for an admin who no longer is one. */
export function AdminsOnlyPage() {
  const email = useAccount().data?.email
  return (
    <>
      <PageHeader
        title="For admins only"
        description={
          <>
            {email ? `${email} is not an admin.` : 'This account is not an admin.'} If you need this page, ask an admin
            to make you one: under Admin, Users, your account.
          </>
        }
      />
      <Button component={RouterLink} href="/">
        Go to the overview
      </Button>
    </>
  )
}

/** Whether the service refused because the account is no admin any more. */
export function isForAdminsOnly(error: unknown): boolean {
  return error instanceof ErrandClientError && error.status === 403
}
