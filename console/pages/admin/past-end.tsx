import { Button } from '@mantine/core'
import { EmptyState } from '../../parts/empty-state.tsx'

export function PastEnd({ what, onFirst }: { what: string; onFirst: () => void }) {
  return (
    <EmptyState
      title={`No ${what} on this page`}
      action={
        <Button size="xs" variant="default" onClick={onFirst}>
          Go to first page
        </Button>
      }
    />
  )
}
