import { Button } from '@mantine/core'
import { PageHeader } from '../parts/page-header.tsx'
import { RouterLink } from '../parts/router-link.tsx'

/** Shown for unknown paths and for pages that this account may not see. */
export function NotFoundPage() {
  return (
    <>
      <PageHeader title="Page not found" description="Check the URL. The page may have been removed." />
      <Button component={RouterLink} href="/">
        Go to overview
      </Button>
    </>
  )
}
