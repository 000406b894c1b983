import { queryClient } from '../../../app/query-client.ts'
import { accountKey } from '../../../app/use-account.ts'

// What a turn changes is read anew: by the page that had it, and by the other tabs of the browser, which it tells.

/** In a browser that has none, each tab is by itself. */
const channel = 'BroadcastChannel' in globalThis ? new BroadcastChannel('errand.sessions') : undefined

/** Reads anew what a turn of the session changes beside its messages: it and the lists, what was charged, the balance. */
export function renewMoney(sessionId: string): void {
  for (const queryKey of [['session', sessionId], ['sessions'], ['transactions'], ['usage'], accountKey]) {
    void queryClient.invalidateQueries({ queryKey })
  }
}

/** The same with the messages: somebody else has written some. */
export function renewSession(sessionId: string): void {
  void queryClient.invalidateQueries({ queryKey: ['messages', sessionId] })
  renewMoney(sessionId)
}

/** Tells the other tabs that a turn of the session has ended. */
export function tellTabs(sessionId: string): void {
  channel?.postMessage(sessionId)
}

/** `hear` is called with the id of a session in which another tab had a turn. */
export function listenToTabs(hear: (sessionId: string) => void): void {
  channel?.addEventListener('message', ({ data }: MessageEvent<unknown>) => {
    if (typeof data === 'string') hear(data)
  })
}
