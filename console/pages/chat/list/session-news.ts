import type { Session, SessionListItem } from '../../../../client/client.ts'
import { queryClient } from '../../../app/query-client.ts'
import { accountKey } from '../../../app/use-account.ts'

// Refetches the data that a turn changes, and notifies the browser's other tabs, which then do the same.

/** Undefined in browsers without BroadcastChannel. There, tabs cannot notify each other. */
const channel = 'BroadcastChannel' in globalThis ? new BroadcastChannel('errand.sessions') : undefined

/** Refetches the data that a turn changes, except messages: the session, lists, charges and balance. */
export function renewMoney(sessionId: string): void {
  for (const queryKey of [['session', sessionId], ['sessions'], ['transactions'], ['usage'], accountKey]) {
    void queryClient.invalidateQueries({ queryKey })
  }
}

/** Shows immediately, in the lists and the open session, that a reply to this message is in progress. */
export function showReplying(sessionId: string, message: string): void {
  const line = message.trim().split('\n', 1)[0]!.slice(0, 120)
  const withTitle = <Of extends { title?: string | undefined }>(of: Of): Of => ({ ...of, title: of.title ?? line })
  queryClient.setQueryData<Session>(['session', sessionId], (session) => session && withTitle(session))
  queryClient.setQueriesData<{ sessions: SessionListItem[] }>(
    { queryKey: ['sessions'] },
    (page) =>
      page && {
        ...page,
        sessions: page.sessions.map((one) => (one.id === sessionId ? { ...withTitle(one), isReplying: true } : one)),
      },
  )
}

/** Like `renewMoney`, but also refetches the messages, because another client has added some. */
export function renewSession(sessionId: string): void {
  void queryClient.invalidateQueries({ queryKey: ['messages', sessionId] })
  renewMoney(sessionId)
}

export function tellTabs(sessionId: string): void {
  channel?.postMessage(sessionId)
}

export function listenToTabs(hear: (sessionId: string) => void): void {
  channel?.addEventListener('message', ({ data }: MessageEvent<unknown>) => {
    if (typeof data === 'string') hear(data)
  })
}
