import { Box, Skeleton, Stack, VisuallyHidden } from '@mantine/core'
import type { UseQueryResult } from '@tanstack/react-query'
import { useState, type ReactNode } from 'react'
import { isUnreached } from '../app/query-client.ts'
import { ErrorNotice } from './error-notice.tsx'

type QueryStateProps<Data> = {
  query: UseQueryResult<Data>
  isEmpty?: (data: Data) => boolean
  empty?: ReactNode
  /** Placeholder in the shape of the content. Default: three lines. */
  skeleton?: ReactNode
  children: (data: Data) => ReactNode
}

/**
 * Renders a query in each of its states: loading, failed with a retry button, empty, or with data. While the service is
 * unreachable, only the header shows that, and the query retries.
 */
export function QueryState<Data>({ query, isEmpty, empty, skeleton, children }: QueryStateProps<Data>) {
  const { data, isFetching, isPending, refetch } = query
  const error = useLastError(query)
  const notice = error !== null && !isUnreached(error) && (
    <ErrorNotice
      title={isPending || data === undefined ? 'Could not load this data' : 'This data may be out of date'}
      error={error}
      onRetry={() => void refetch()}
      isRetrying={isFetching}
    />
  )
  if (data === undefined) return notice || <Loading>{skeleton}</Loading>
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
