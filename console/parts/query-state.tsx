import { Box, Skeleton, Stack, VisuallyHidden } from '@mantine/core'
import type { UseQueryResult } from '@tanstack/react-query'
import { useEffect, useState, useSyncExternalStore, type ReactNode } from 'react'
import { isUnreached } from '../app/query-client.ts'
import { ErrorNotice } from './error-notice.tsx'

type QueryStateProps<Data> = {
  query: UseQueryResult<Data>
  isEmpty?: (data: Data) => boolean
  empty?: ReactNode
  /** Placeholder in the shape of the content. Default: three lines. */
  skeleton?: ReactNode
  /**
   * For secondary content. Hides that the service is unreachable, because the page's main content already reports that.
   */
  isAside?: boolean
  children: (data: Data) => ReactNode
}

/** Renders a query in each of its states: loading, failed with a retry button, empty, or with data. */
export function QueryState<Data>({ query, isEmpty, empty, skeleton, isAside, children }: QueryStateProps<Data>) {
  const { data, isFetching, isPending, refetch } = query
  const error = useLastError(query)
  const isUnreachable = isUnreached(error)
  const isSpeaker = useIsSpeaker(isUnreachable && !isAside)
  const isSaid = error !== null && (!isUnreachable || isSpeaker)
  const notice = isSaid && (
    <ErrorNotice
      title={isPending || data === undefined ? 'Could not load this data' : 'This data may be out of date'}
      error={isUnreachable ? new Error('Could not reach the service. Retrying…') : error}
      onRetry={() => void refetch()}
      isRetrying={isFetching}
    />
  )
  if (data === undefined) return notice || (error === null ? <Loading>{skeleton}</Loading> : null)
  return (
    <>
      {notice && <Box mb="md">{notice}</Box>}
      {isEmpty?.(data) ? empty : children(data)}
    </>
  )
}

/**
 * Returns the query's error. If there is no data, a retry clears the error, so this keeps the previous error during the
 * retry.
 */
function useLastError({ data, error, isPending }: UseQueryResult): Error | null {
  const [last, setLast] = useState(error)
  const shown = error ?? (isPending && data === undefined ? last : null)
  if (shown !== last) setLast(shown)
  return shown
}

// If the service is unreachable, all queries of a page fail for the same reason. Only one of them shows the error.
const listeners = new Set<() => void>()
const unreached = new Set<symbol>()

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function useIsSpeaker(isWilling: boolean): boolean {
  const [own] = useState(() => Symbol('query state'))
  useEffect(() => {
    if (!isWilling) return undefined
    unreached.add(own)
    for (const listener of listeners) listener()
    return () => {
      unreached.delete(own)
      for (const listener of listeners) listener()
    }
  }, [isWilling, own])
  return useSyncExternalStore(subscribe, () => isWilling && unreached.values().next().value === own)
}

function Loading({ children }: { children: ReactNode }) {
  return (
    <Box aria-busy="true">
      <VisuallyHidden role="status">Loading</VisuallyHidden>
      {children ?? (
        <Stack gap="sm" aria-hidden>
          <Skeleton height={44} />
          <Skeleton height={44} />
          <Skeleton height={44} />
        </Stack>
      )}
    </Box>
  )
}
