import { queryClient } from './query-client.ts'
import { goTo } from './service-url.ts'

/** Prefix of all keys that the console writes to the tab's storage. */
export const storedPrefix = 'errand.'

const keepers = new Set<() => void>()

/** Registers cleanup of state outside the query cache. Calls `forget` when the login ends. */
export function whenLeaving(forget: () => void): void {
  keepers.add(forget)
}

const enders = new Set<() => Promise<unknown>>()

/** Registers cleanup that needs the login. Calls `end` before the login ends. */
export function beforeLoggingOut(end: () => Promise<unknown>): void {
  enders.add(end)
}

export async function endWork(): Promise<void> {
  await Promise.allSettled([...enders].map((end) => end()))
}

/** Goes to the login page, and removes all data of the previous user from the tab. */
export function leaveConsole(path = '/login'): void {
  goTo(path, { replace: true })
  forgetAll()
}

/** Reloads the page for the user who is logged in now, without any data of the previous user. */
export function startOver(): void {
  forgetAll()
  // A reply in progress or an unsaved key would make the browser ask whether to stay. Both belong to another account
  // now.
  addEventListener('beforeunload', (event) => event.stopImmediatePropagation(), { capture: true })
  location.reload()
}

function forgetAll(): void {
  queryClient.clear()
  for (const forget of keepers) forget()
  try {
    // Includes keys of console parts that have not been loaded since the page was opened.
    for (const name of Object.keys(sessionStorage)) {
      if (name.startsWith(storedPrefix)) sessionStorage.removeItem(name)
    }
  } catch {
    // Throws if the browser disables storage.
  }
}
