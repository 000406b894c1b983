import { Box, Skeleton, Stack, VisuallyHidden } from '@mantine/core'
import type { UseQueryResult } from '@tanstack/react-query'
import { useEffect, useState, useSyncExternalStore, type ReactNode } from 'react'
import { isUnreached } from '../app/query-client.ts'
import { ErrorNotice } from './error-notice.tsx'

type QueryStateProps<Data> = {
  query: UseQueryResult<Data>
  /** Whether the data is to be shown as `empty`. */
  isEmpty?: (data: Data) => boolean
  empty?: ReactNode
  /** In the shape of the content; three lines when left out. */
  skeleton?: ReactNode
  /** Beside the content of the page, which says by itself when the service cannot be reached. */
  isAside?: boolean
  children: (data: Data) => ReactNode
}

/** A query in whatever state it is: loading, failed with a way to retry, empty, or its data. */
export function QueryState<Data>({ query, isEmpty, empty, skeleton, isAside, children }: QueryStateProps<Data>) {
  const { data, isFetching, isPending, refetch } = query
  const error = useLastError(query)
  const isUnreachable = isUnreached(error)
  const isSpeaker = useIsSpeaker(isUnreachable && !isAside)
  const isSaid = error !== null && (!isUnreachable || isSpeaker)
  const notice = isSaid && (
    <ErrorNotice
      title={isPending || data === undefined ? 'This could not be loaded' : 'This may be out of date'}
      error={isUnreachable ? new Error('The service could not be reached. Trying again…') : error}
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

/** The error of the query; while it is tried again without data, which forgets it, the one before. */
function useLastError({ data, error, isPending }: UseQueryResult): Error | null {
  const [last, setLast] = useState(error)
  const shown = error ?? (isPending && data === undefined ? last : null)
  if (shown !== last) setLast(shown)
  return shown
}

// When the service cannot be reached, all queries of a page fail for the one reason, which one of them says.
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
