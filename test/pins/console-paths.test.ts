import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { openConsoleFiles } from '../../server/http/files/console-files.ts'
import { describedRouter } from '../../server/edge/root-router.ts'
import { createRoutes, type RouteParts } from '../../server/edge/service-routes.ts'

const routes = fileURLToPath(new URL('../../console/app/page-routes.tsx', import.meta.url))

test('the server returns the console page for every console route, and for no other paths', () => {
  const paths = Array.from(readFileSync(routes, 'utf8').matchAll(/path: '([^']+)'/g), ([, path]) => path!)
  expect(paths.length).toBeGreaterThan(15)
  const console = openConsoleFiles()
  const parts = {
    console,
    name: 'Errand',
    mcp: { catalogue: { agents: [] }, router: describedRouter },
    router: describedRouter,
  }
  const table = createRoutes(parts as unknown as RouteParts)
  const serves = (path: string) => table.match('GET', path)?.route?.operation === 'console'
  for (const path of [...paths, '/login', '/invitation', '/settings', '/admin']) {
    expect(serves(path.replace(/:\w+\??/, 'some-id').replace(/\/$/, '') || '/'), path).toBe(true)
  }
  expect(serves('/chat')).toBe(true)
  for (const path of [
    '/index.html',
    '/tasks/',
    '/tasks/a/b',
    '/login/oidc/corp',
    '/wp-admin',
    '/settings/other',
    '/a',
  ]) {
    expect(serves(path), path).toBe(false)
  }
})
