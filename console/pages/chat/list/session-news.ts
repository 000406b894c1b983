import { queryClient } from '../../../app/query-client.ts'
import { accountKey } from '../../../app/use-account.ts'

// Refetches the data that a turn changes, in this page and in the browser's other tabs, which it notifies.

/** In browsers without BroadcastChannel, tabs do not notify each other. */
const channel = 'BroadcastChannel' in globalThis ? new BroadcastChannel('errand.sessions') : undefined

/** Refetches the data that a turn changes besides messages: the session, lists, charges and balance. */
export function renewMoney(sessionId: string): void {
  for (const queryKey of [['session', sessionId], ['sessions'], ['transactions'], ['usage'], accountKey]) {
    void queryClient.invalidateQueries({ queryKey })
  }
}

/** Like `renewMoney`, and also refetches messages, because another client wrote some. */
export function renewSession(sessionId: string): void {
  void queryClient.invalidateQueries({ queryKey: ['messages', sessionId] })
  renewMoney(sessionId)
}

/** Notifies the other tabs that a turn of the session has ended. */
export function tellTabs(sessionId: string): void {
  channel?.postMessage(sessionId)
}

/** Calls `hear` with the session id when another tab had a turn. */
export function listenToTabs(hear: (sessionId: string) => void): void {
  channel?.addEventListener('message', ({ data }: MessageEvent<unknown>) => {
    if (typeof data === 'string') hear(data)
  })
}
