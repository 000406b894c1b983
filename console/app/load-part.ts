import { lazy, useSyncExternalStore, type ComponentType, type LazyExoticComponent } from 'react'
import { basePath } from './service-url.ts'

// Loads parts of the console on demand. If loading a module fails once, browsers do not retry until the page is
// reloaded. Parts are therefore not requested while the service is unreachable.

const checkTimeoutMs = 5000
const retryMs = 2000
/** How long the service counts as reachable after a response. */
const freshMs = 2000
const idleMs = 1500
const idleRetryMs = 20_000
/** File requested to test the connection. It is small and public, and the request has no side effects. */
const checkedPath = `${basePath}/favicon.svg`

/** Time of the last response. Initially now, because the service has just served this script. */
let reachedAt = performance.now()
let isUnreached = false
const listeners = new Set<() => void>()
const parts: { start: () => Promise<unknown>; isForAdmins: boolean }[] = []

type Loaded<Props> = { default: ComponentType<Props> }

/**
 * Creates a component with its own chunk. Loads it once the service is reachable. Until then, the surrounding Suspense
 * shows its fallback.
 */
export function lazyPart<Props = object>(
  load: () => Promise<ComponentType<Props>>,
  isForAdmins = false,
): LazyExoticComponent<ComponentType<Props>> {
  let loading: Promise<Loaded<Props>> | undefined
  const start = () => (loading ??= loadPart(load))
  parts.push({ start, isForAdmins })
  return lazy(start)
}

/** Like `lazyPart`, but preloaded only for admins. */
export const adminPart = (load: () => Promise<ComponentType>) => lazyPart(load, true)

async function loadPart<Props>(load: () => Promise<ComponentType<Props>>): Promise<Loaded<Props>> {
  while (!(await isReached())) await waitToRetry()
  setUnreached(false)
  const component = await load()
  reachedAt = performance.now()
  return { default: component }
}

async function isReached(): Promise<boolean> {
  if (navigator.onLine && performance.now() - reachedAt < freshMs) return true
  const signal = AbortSignal.timeout(checkTimeoutMs)
  const answer = await fetch(checkedPath, { method: 'HEAD', cache: 'no-store', signal }).catch(() => undefined)
  // A proxy may respond while the service is down.
  if (!answer?.ok) return false
  reachedAt = performance.now()
  return true
}

async function waitToRetry(): Promise<void> {
  setUnreached(true)
  await pauseOrOnline(retryMs)
}

/** Waits `ms`, or until the browser comes back online, whichever comes first. */
export async function pauseOrOnline(ms: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<unknown>()
  const timer = setTimeout(resolve, ms)
  addEventListener('online', resolve, { once: true })
  await promise
  clearTimeout(timer)
  removeEventListener('online', resolve)
}

function setUnreached(value: boolean): void {
  isUnreached = value
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function useIsUnreached(): boolean {
  return useSyncExternalStore(subscribe, () => isUnreached)
}

let isLoadingAll = false

/** Preloads the user's parts while the browser is idle, so that they are available if the connection drops. */
export async function loadAllWhenIdle({ isAdmin }: { isAdmin: boolean }): Promise<void> {
  const { connection } = navigator as Navigator & { connection?: { saveData?: boolean } }
  if (isLoadingAll || connection?.saveData) return
  isLoadingAll = true
  await pause(idleMs)
  // Loading a part may register more parts.
  for (let index = 0; index < parts.length; index++) {
    if (parts[index]!.isForAdmins && !isAdmin) continue
    await idle()
    while (!(await isReached())) await pause(idleRetryMs)
    // Ignore errors. The page that needs the part reports them.
    await parts[index]!.start().catch(() => {})
  }
}

async function pause(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms))
}

async function idle(): Promise<void> {
  // Safari does not support requestIdleCallback.
  const request: typeof requestIdleCallback | undefined = globalThis.requestIdleCallback
  await new Promise<void>((resolve) => (request ? request(() => resolve()) : setTimeout(resolve, 100)))
}
