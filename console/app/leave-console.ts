import { navigate } from 'wouter/use-browser-location'
import { queryClient } from './query-client.ts'

/** What the console keeps in the tab's storage begins with this. */
export const storedPrefix = 'errand.'

const keepers = new Set<() => void>()

/** For what is kept beside the query cache: `forget` runs when the login ends. */
export function whenLeaving(forget: () => void): void {
  keepers.add(forget)
}

const enders = new Set<() => Promise<unknown>>()

/** For what is under way in the name of the login: `end` is called before that ends. */
export function beforeLoggingOut(end: () => Promise<unknown>): void {
  enders.add(end)
}

export async function endWork(): Promise<void> {
  await Promise.allSettled([...enders].map((end) => end()))
}

/** Goes to the login page, and leaves nothing in the tab of who was logged in. */
export function leaveConsole(path = '/login'): void {
  navigate(path, { replace: true })
  forgetAll()
}

/** Begins anew for whoever is logged in now, with nothing of who was before. */
export function startOver(): void {
  forgetAll()
  // A reply under way and a key that is not stored yet ask to stay, but they are another account's by now.
  addEventListener('beforeunload', (event) => event.stopImmediatePropagation(), { capture: true })
  location.reload()
}

function forgetAll(): void {
  queryClient.clear()
  for (const forget of keepers) forget()
  try {
    // Also of parts of the console that were not loaded this time.
    for (const name of Object.keys(sessionStorage)) {
      if (name.startsWith(storedPrefix)) sessionStorage.removeItem(name)
    }
  } catch {
    // A browser that keeps nothing throws.
  }
}
