import { Box, Skeleton, Stack, VisuallyHidden } from '@mantine/core'
import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { ErrorNotice } from './error-notice.tsx'

type QueryStateProps<Data> = {
  query: UseQueryResult<Data>
  /** Whether the data is to be shown as `empty`. */
  isEmpty?: (data: Data) => boolean
  empty?: ReactNode
  /** In the shape of the content; three lines when left out. */
  skeleton?: ReactNode
  children: (data: Data) => ReactNode
}

/** A query in whatever state it is: loading, failed with a way to retry, empty, or its data. */
export function QueryState<Data>({ query, isEmpty, empty, skeleton, children }: QueryStateProps<Data>) {
  const { data, error, isFetching, isPending, refetch } = query
  const notice = error && (
    <ErrorNotice
      title={isPending || data === undefined ? 'This could not be loaded' : 'This may be out of date'}
      error={error}
      onRetry={() => void refetch()}
      isRetrying={isFetching}
    />
  )
  if (data === undefined) return notice ?? <Loading>{skeleton}</Loading>
  return (
    <>
      {notice && <Box mb="md">{notice}</Box>}
      {isEmpty?.(data) ? empty : children(data)}
    </>
  )
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
