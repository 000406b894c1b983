import { Button } from '@mantine/core'
import { PageHeader } from '../parts/page-header.tsx'
import { RouterLink } from '../parts/router-link.tsx'

/** Shown for unknown paths, and for pages that this account may not see. */
export function NotFoundPage() {
  return (
    <>
      <PageHeader title="Page not found" description="The address may be mistyped, or the page was removed." />
      <Button component={RouterLink} href="/">
        Go to the overview
      </Button>
    </>
  )
}
