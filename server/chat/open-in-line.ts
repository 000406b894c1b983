import type { Units } from '../kernel/money.ts'
import type { OpenTurn, OpenTurnResult } from '../store/sessions/session-types.ts'
import type { Store } from '../store/store.ts'
import type { Amounts } from './chat-amounts.ts'
import { clientLeft, lineFull } from './chat-refusals.ts'
import type { UserTurns } from './user-turns.ts'

/** Max wait for other chats of the user to free some of the balance. */
const waitMsMax = 30_000

type OpenParts = { assertAccepting: () => void; store: Pick<Store, 'openTurn'> }
type Opening = {
  users: UserTurns
  turn: Omit<OpenTurn, 'required' | 'hold' | 'leaving'>
  amounts: Amounts
  /**
   * Computes the amounts from an exact token count of the message. Used if the chat cannot be opened with the upper
   * bound.
   */
  recount: () => Promise<Amounts | undefined>
  /** Called when the chat starts to wait for other chats of its user. */
  onWait: () => void
  signal: AbortSignal
}

/** Opens the turn. If the holds of the user's other turns leave too little balance, waits for those turns first. */
export async function openInLine(
  { assertAccepting, store }: OpenParts,
  { amounts, onWait, recount, signal, turn, users }: Opening,
): Promise<OpenTurnResult> {
  const { userId } = turn
  let { hold, most, required } = amounts
  let isExact = false
  const attempt = async () => {
    const tried = await attemptOnce()
    if (isExact || tried.result.outcome !== 'refused' || !isShort(tried.result.reason)) return tried
    isExact = true
    const exact = await recount()
    if (!exact || exact.required >= required) return tried
    ;({ hold, most, required } = exact)
    return await attemptOnce()
  }
  const attemptOnce = () => {
    if (signal.aborted) throw clientLeft()
    assertAccepting()
    return users.attempt(userId, {
      mayNeed: most,
      begin: async (others, isAlone) => ({
        isAlone,
        result: await store.openTurn({ ...turn, required, hold, leaving: others }),
      }),
    })
  }
  // If no other turn of the user is in progress, here or on other nodes, waiting would free nothing.
  const isFinal = ({ isAlone, result }: { isAlone: boolean; result: OpenTurnResult }) =>
    result.outcome !== 'refused' ||
    result.reason !== 'balance' ||
    result.balance < required ||
    (isAlone && !users.isHeldElsewhere(userId, result.held))

  if (!users.hasLine(userId)) {
    const first = await attempt()
    if (isFinal(first)) return first.result
  }
  const until = performance.now() + waitMsMax
  const isOver = () => performance.now() > until || signal.aborted
  const place = users.queue(userId)
  if (!place) throw lineFull()
  onWait()
  try {
    await place.mine(isOver)
    for (;;) {
      const next = await attempt()
      if (isFinal(next) || isOver()) return next.result
      const isElsewhere = users.isHeldElsewhere(userId, heldIn(next.result))
      if (isElsewhere || users.isBusy(userId)) await users.change(userId)
    }
  } finally {
    place.leave()
  }
}

function isShort(reason: string): boolean {
  return reason === 'balance' || reason === 'budget' || reason === 'limit'
}

function heldIn(result: OpenTurnResult): Units {
  return 'held' in result ? result.held : 0
}
