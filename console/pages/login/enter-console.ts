import { navigate } from 'wouter/use-browser-location'
import { localPath } from '../../app/local-path.ts'
import { queryClient } from '../../app/query-client.ts'

/** Where the login should lead, which the page that was left has put into the address. */
export function returnPath(): string {
  return localPath(new URLSearchParams(location.search).get('returnTo'))
}

/** Goes on to the console after a login, with nothing of whoever was logged in before. */
export function enterConsole(path: string): void {
  queryClient.clear()
  navigate(path, { replace: true })
}
