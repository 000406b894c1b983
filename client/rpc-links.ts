import { createTRPCClient, httpBatchLink, httpLink, splitLink, type Operation, type TRPCClient } from '@trpc/client'
import type { AppRouter } from '../server/rpc/root-router.ts'
import { fetchRpc } from './checked-fetch.ts'
import type { Connection } from './connection.ts'
import { rpcEncoding } from './rpc-encoding.ts'

/** What a call says about how it is to be sent. */
export type SendContext = {
  idempotencyKey?: string | undefined
  /** Long polls: in a batch, an answer waits for the slowest. */
  isAlone?: boolean
}

/** The most calls that the service takes in one batch. */
const batchMax = 20
// Far below what servers and proxies take, and more than a full batch of ordinary reads needs.
const urlLengthMax = 4000
const inputLengthMax = 1000

/**
 * The procedures of the service. Reads that are made in the same tick go in one request; calls that change something
 * go alone, because an Idempotency-Key header is about one of them.
 */
export function createRpc({ baseUrl, fetch, headers }: Connection): TRPCClient<AppRouter> {
  const common = {
    url: `${baseUrl}/trpc`,
    transformer: rpcEncoding,
    // The links always call it with a string.
    fetch: (url: RequestInfo | URL | string, init?: unknown) => fetchRpc(fetch, url as string, init as RequestInit),
  }
  return createTRPCClient<AppRouter>({
    links: [
      splitLink({
        condition: goesAlone,
        true: httpLink({
          ...common,
          headers: ({ op }) => {
            const { idempotencyKey }: SendContext = op.context
            return idempotencyKey === undefined ? headers : { ...headers, 'Idempotency-Key': idempotencyKey }
          },
        }),
        false: httpBatchLink({ ...common, headers, maxItems: batchMax, maxURLLength: urlLengthMax }),
      }),
    ],
  })
}

function goesAlone({ context, input, type }: Operation): boolean {
  const { isAlone }: SendContext = context
  // A batch refuses an input that is too long for its URL; alone, the service says what is wrong with it.
  return (
    type === 'mutation' ||
    isAlone === true ||
    JSON.stringify(rpcEncoding.input.serialize(input)).length > inputLengthMax
  )
}
