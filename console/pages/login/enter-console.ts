import { localPath } from '../../app/local-path.ts'
import { queryClient } from '../../app/query-client.ts'
import { goTo } from '../../app/service-url.ts'

export function returnPath(): string {
  return localPath(new URLSearchParams(location.search).get('returnTo'))
}

/** Opens the console after login and clears the previous user's cached data. */
export function enterConsole(path: string): void {
  queryClient.clear()
  goTo(path, { replace: true })
}
