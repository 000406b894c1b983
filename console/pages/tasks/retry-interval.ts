import type { QueryState } from '@tanstack/react-query'
import { mayPass } from '../../app/query-client.ts'

const retryMs = 2000

/** Polls after transient failures until the service is back. Does not poll after other errors. */
export function retryInterval({ state }: { state: Pick<QueryState, 'error' | 'status'> }): number | false {
  return state.status === 'error' && mayPass(state.error) ? retryMs : false
}
