import { Button } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { AuditAct } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { DataTable, type Column } from '../../../parts/data-table.tsx'
import { QueryState } from '../../../parts/query-state.tsx'

type Filters = { userId?: string; action?: AuditAct['action']; limit: number }

export function useAuditLog(filters: Filters) {
  return useInfiniteQuery({
    queryKey: ['audit', filters],
    queryFn: ({ pageParam, signal }) =>
      client.audit.list({ ...filters, ...(pageParam !== '' && { after: pageParam }) }, { signal }),
    initialPageParam: '',
    getNextPageParam: ({ next }) => next,
  })
}

type AuditEntriesProps = {
  log: ReturnType<typeof useAuditLog>
  caption: string
  columns: readonly Column<AuditAct>[]
  empty: ReactNode
  isWide?: boolean
  skeleton?: ReactNode
}

/** Entries of the audit log, newest first. Older ones load on demand. */
export function AuditEntries({ caption, columns, empty, isWide = false, log, skeleton }: AuditEntriesProps) {
  return (
    <QueryState
      query={log}
      isEmpty={({ pages }) => pages.every(({ acts }) => acts.length === 0)}
      empty={empty}
      skeleton={skeleton}
    >
      {({ pages }) => (
        <>
          <DataTable
            caption={caption}
            columns={columns}
            rows={pages.flatMap(({ acts }) => acts)}
            rowKey={({ seq }) => String(seq)}
            isWide={isWide}
          />
          {log.hasNextPage && (
            <Button variant="default" loading={log.isFetchingNextPage} onClick={() => void log.fetchNextPage()}>
              Show more
            </Button>
          )}
        </>
      )}
    </QueryState>
  )
}
