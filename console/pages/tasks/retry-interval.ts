import type { QueryState } from '@tanstack/react-query'
import { ErrandClientError } from '../../../client/client.ts'

const retryMs = 2000

/** Reads again what failed because the service was not there, until it is; other errors stay as they are. */
export function retryInterval({ state }: { state: Pick<QueryState, 'error' | 'status'> }): number | false {
  return state.status === 'error' && passes(state.error) ? retryMs : false
}

function passes(error: unknown): boolean {
  if (!(error instanceof ErrandClientError)) return false
  return error.code === 'NETWORK_ERROR' || error.code === 'TIMEOUT' || (error.status ?? 0) >= 500
}
