/** User on whose behalf the work is done. All unauthenticated clients share null. */
type Owner = string | null

/** Queued work by owner. The first owner in the map is served next. */
const waiting = new Map<Owner, (() => void)[]>()
let isUnderWay = false

/**
 * Resolves in a separate event-loop tick for each caller, round-robin over owners. Call it before work that blocks the
 * event loop for tens of milliseconds. Otherwise, calls that arrive together block the loop for their total time.
 */
export function ownTurn(owner: Owner): Promise<void> {
  return new Promise((resolve) => {
    const own = waiting.get(owner)
    if (own) own.push(resolve)
    else waiting.set(owner, [resolve])
    if (isUnderWay) return
    isUnderWay = true
    setImmediate(giveNext)
  })
}

function giveNext(): void {
  const [next] = waiting
  isUnderWay = next !== undefined
  if (!next) return
  const [owner, own] = next
  waiting.delete(owner)
  const give = own.shift()!
  if (own.length > 0) waiting.set(owner, own)
  setImmediate(giveNext)
  give()
}
