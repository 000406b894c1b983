import { Skeleton, Stack } from '@mantine/core'
import { PageHeader } from '../../../parts/page-header.tsx'
import { QueryState } from '../../../parts/query-state.tsx'
import { AdminsOnlyPage, isForAdminsOnly } from '../admins-only-page.tsx'
import { SystemDetails } from './system-details.tsx'
import { SystemHealth } from './system-health.tsx'
import { useSystem } from './use-system.ts'

const renewMs = 5000

export function SystemPage() {
  const system = useSystem(renewMs)
  if (isForAdminsOnly(system.error)) return <AdminsOnlyPage />
  return (
    <>
      <PageHeader title="System" description={`Service health. Updates every ${renewMs / 1000} seconds.`} />
      <Stack gap="lg">
        <QueryState query={system} skeleton={<Skeleton height={640} />}>
          {(known) => (
            <Stack gap="lg">
              <SystemHealth system={known} />
              <SystemDetails system={known} />
            </Stack>
          )}
        </QueryState>
      </Stack>
    </>
  )
}
