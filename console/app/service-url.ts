import { navigate } from 'wouter/use-browser-location'

/**
 * Path of the service on its host, such as `/errand`, or an empty string at the root. The service writes it into the
 * page.
 */
export const basePath = document.querySelector<HTMLMetaElement>('meta[name="base-path"]')?.content ?? ''

export const serviceUrl = location.origin + basePath

export function pagePath(): string {
  return location.pathname.slice(basePath.length)
}

/** Navigates to a page of the console from code outside of a component. */
export function goTo(path: string, options?: { replace?: boolean; state?: unknown }): void {
  navigate(basePath + path, options)
}
