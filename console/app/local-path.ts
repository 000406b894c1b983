import { pagePath } from './service-url.ts'

/**
 * Returns the path if it leads to a page of this console, and `/` otherwise. Prevents links from redirecting the user
 * to another site after login.
 */
export function localPath(given: string | null): string {
  if (given === null || !/^\/(?![/\\])/.test(given) || !URL.canParse(given, location.origin)) return '/'
  const url = new URL(given, location.origin)
  if (url.origin !== location.origin || /^\/(?:login|invitation)(?:\/|$)/.test(url.pathname)) return '/'
  return url.pathname + url.search + url.hash
}

export function loginPath(): string {
  const here = localPath(pagePath() + location.search + location.hash)
  return here === '/' ? '/login' : `/login?returnTo=${encodeURIComponent(here)}`
}
