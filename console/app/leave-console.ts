import { navigate } from 'wouter/use-browser-location'
import { queryClient } from './query-client.ts'

/** Prefix of all keys that the console stores in the tab's storage. */
export const storedPrefix = 'errand.'

const keepers = new Set<() => void>()

/** Registers cleanup of state outside the query cache: `forget` runs when the login ends. */
export function whenLeaving(forget: () => void): void {
  keepers.add(forget)
}

const enders = new Set<() => Promise<unknown>>()

/** Registers work done on behalf of the login: `end` is called before the login ends. */
export function beforeLoggingOut(end: () => Promise<unknown>): void {
  enders.add(end)
}

export async function endWork(): Promise<void> {
  await Promise.allSettled([...enders].map((end) => end()))
}

/** Goes to the login page and removes all data of the previous user from the tab. */
export function leaveConsole(path = '/login'): void {
  navigate(path, { replace: true })
  forgetAll()
}

/** Reloads for the user who is logged in now, without any data of the previous one. */
export function startOver(): void {
  forgetAll()
  // A reply in progress or an unsaved key would ask to stay, but both belong to another account now.
  addEventListener('beforeunload', (event) => event.stopImmediatePropagation(), { capture: true })
  location.reload()
}

function forgetAll(): void {
  queryClient.clear()
  for (const forget of keepers) forget()
  try {
    // Includes keys of console parts that were not loaded this time.
    for (const name of Object.keys(sessionStorage)) {
      if (name.startsWith(storedPrefix)) sessionStorage.removeItem(name)
    }
  } catch {
    // Throws if the browser disables storage.
  }
}
