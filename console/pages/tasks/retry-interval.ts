import type { QueryState } from '@tanstack/react-query'
import { mayPass } from '../../app/query-client.ts'

const retryMs = 2000

/** Reads again what failed because the service was not there, until it is; other errors stay as they are. */
export function retryInterval({ state }: { state: Pick<QueryState, 'error' | 'status'> }): number | false {
  return state.status === 'error' && mayPass(state.error) ? retryMs : false
}
