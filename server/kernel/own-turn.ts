/** Whose work it is; null for strangers together. */
type Owner = string | null

/** By owner, the next one first. */
const waiting = new Map<Owner, (() => void)[]>()
let isUnderWay = false

/**
 * Resolves in a turn of the event loop that no other has got from here; owners get theirs by turns. A piece of work that
 * takes some of the hundred milliseconds for which the loop may stop waits for it first: as many as arrive together
 * would stop it for their sum.
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
