import { writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { installedProject, run } from '../../reach/long/client/client-package.ts'
import { journeyResult, journeySettings, journeyText } from '../../reach/long/client/journey.ts'
import { openResources } from '../../support/resources.ts'
import { startService } from '../../support/test-service.ts'
import { openBrowser } from '../open-browser.ts'

const runMsMax = 180_000

/** Serves a folder's files from an origin other than the service's. */
async function startPage(folder: string): Promise<{ origin: string; stop: () => Promise<void> }> {
  const server = createServer((request, response) => {
    const name = new URL(request.url!, 'http://page').pathname
    const type = name.endsWith('.js') ? 'text/javascript' : 'text/html'
    readFile(join(folder, name === '/' ? 'index.html' : name)).then(
      (text) => response.setHeader('Content-Type', type).end(text),
      () => response.writeHead(404).end(),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  openResources.add('a page of an app')
  return {
    origin: `http://localhost:${(server.address() as AddressInfo).port}`,
    stop: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      openResources.delete('a page of an app')
    },
  }
}

/** Runs a journey program in a page of that folder, under the browser's cross-origin rules. */
async function travelIn(folder: string, program: string): Promise<unknown> {
  const browser = await openBrowser()
  const service = await startService()
  const app = await startPage(folder)
  const context = await browser.newContext()
  try {
    const page = await context.newPage()
    await page.goto(app.origin)
    // The page cannot read the response to a request that other origins may not send.
    const foreign = `fetch('${service.url}/api/agents', { headers: { 'X-Not-Allowed': '1' } }).then(({ status }) => status, () => 'refused')`
    expect(await page.evaluate(foreign)).toBe('refused')
    return await page.evaluate(`(${program})(${JSON.stringify(await journeySettings(service))})`)
  } finally {
    await context.close()
    await app.stop()
    await service.stop()
  }
}

test(
  'the packed client works as ES modules in a page of another origin, with a traceparent',
  { timeout: runMsMax },
  async () => {
    const project = await installedProject()
    const folder = join(project, 'node_modules/errand-client')
    writeFileSync(join(folder, 'index.html'), '<!doctype html><title>App</title>')
    const program = `async (settings) => {
    ${journeyText}
    const { createClient, isErrandError } = await import('/index.js')
    const { unwrap } = await import('/webhooks.js')
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    const traced = (options) => createClient({ ...options, defaultHeaders: { traceparent } })
    return await journey({ createClient: traced, isErrandError, unwrap }, settings)
  }`
    expect(await travelIn(folder, program)).toEqual(journeyResult)
  },
)

test('the client works in a page of another origin, built with Vite', { timeout: runMsMax }, async () => {
  const project = await installedProject(
    {
      'index.html': '<!doctype html><title>App</title><script type="module" src="/main.js"></script>',
      'main.js': `import { createClient, isErrandError } from 'errand-client'\nimport { unwrap } from 'errand-client/webhooks'\n${journeyText}\nglobalThis.travel = (settings) => journey({ createClient, isErrandError, unwrap }, settings)`,
    },
    { type: 'module' },
  )
  const vite = join(import.meta.dirname, '../../../node_modules/vite/bin/vite.js')
  await run(process.execPath, [vite, 'build', '--outDir', 'built'], project)
  expect(await travelIn(join(project, 'built'), 'travel')).toEqual(journeyResult)
})
