import type { OpenTurn, OpenTurnResult } from '../store/sessions/session-types.ts'
import type { Store } from '../store/store.ts'
import type { Amounts } from './chat-amounts.ts'
import { clientLeft } from './chat-refusals.ts'

type OpenParts = { assertAccepting: () => void; store: Pick<Store, 'openTurn'> }
type Opening = {
  turn: Omit<OpenTurn, 'required' | 'hold'>
  amounts: Amounts
  recount: () => Promise<Amounts | undefined>
  signal: AbortSignal
}

/**
 * Opens the turn. If the balance or the caps do not cover the maximum possible token count of the message, counts its
 * tokens and retries.
 */
export async function openTurn(
  { assertAccepting, store }: OpenParts,
  { amounts, recount, signal, turn }: Opening,
): Promise<OpenTurnResult> {
  const open = ({ hold, required }: Amounts) => {
    if (signal.aborted) throw clientLeft()
    assertAccepting()
    return store.openTurn({ ...turn, required, hold })
  }
  const opened = await open(amounts)
  if (opened.outcome !== 'refused' || !isShort(opened.reason)) return opened
  const exact = await recount()
  return exact && exact.required < amounts.required ? await open(exact) : opened
}

function isShort(reason: string): boolean {
  return reason === 'balance' || reason === 'budget' || reason === 'limit'
}
