import { lazy, useSyncExternalStore, type ComponentType, type LazyExoticComponent } from 'react'

// The parts of the console that are loaded when they are needed. A browser that failed once to load a module never tries
// again until the page is loaded anew, so none is asked for while the service cannot be reached.

const checkTimeoutMs = 5000
const retryMs = 2000
/** For so long after an answer the service counts as reached. */
const freshMs = 2000
const idleMs = 1500
const idleRetryMs = 20_000
/** Small, needs no login, and says nothing. */
const checkedPath = '/favicon.svg'

/** The script that runs this has just come. */
let reachedAt = performance.now()
let isUnreached = false
const listeners = new Set<() => void>()
const parts: (() => Promise<unknown>)[] = []

type Loaded<Props> = { default: ComponentType<Props> }

/** A component in a chunk of its own. What it stands in shows what it says by itself until the service is reached. */
export function lazyPart<Props = object>(
  load: () => Promise<ComponentType<Props>>,
): LazyExoticComponent<ComponentType<Props>> {
  let loading: Promise<Loaded<Props>> | undefined
  const start = () => (loading ??= loadPart(load))
  parts.push(start)
  return lazy(start)
}

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
  // A proxy may answer for a service that is away.
  if (!answer?.ok) return false
  reachedAt = performance.now()
  return true
}

async function waitToRetry(): Promise<void> {
  setUnreached(true)
  await pauseOrOnline(retryMs)
}

/** So long, or less when the browser says that the network is back. */
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

/** Whether a part is waited for while the service cannot be reached. */
export function useIsUnreached(): boolean {
  return useSyncExternalStore(subscribe, () => isUnreached)
}

let isLoadingAll = false

/** Loads every part while nothing else is to be done, so that none is missing when the connection is. */
export async function loadAllWhenIdle(): Promise<void> {
  const { connection } = navigator as Navigator & { connection?: { saveData?: boolean } }
  if (isLoadingAll || connection?.saveData) return
  isLoadingAll = true
  await pause(idleMs)
  // Parts bring further ones.
  for (let index = 0; index < parts.length; index++) {
    await idle()
    while (!(await isReached())) await pause(idleRetryMs)
    // What went wrong is said where the part is needed.
    await parts[index]!().catch(() => {})
  }
}

async function pause(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms))
}

async function idle(): Promise<void> {
  // Safari has no such call.
  const request: typeof requestIdleCallback | undefined = globalThis.requestIdleCallback
  await new Promise<void>((resolve) => (request ? request(() => resolve()) : setTimeout(resolve, 100)))
}
