import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { installedProject } from '../reach/client/client-package.ts'
import { journeyResult, journeySettings, journeyText } from '../reach/client/journey.ts'
import { openResources } from '../support/resources.ts'
import { startService } from '../support/test-service.ts'
import { openBrowser } from './open-browser.ts'

const runMsMax = 180_000

/** Serves the installed package as it lies there, and an empty page. */
async function startPage(folder: string): Promise<{ origin: string; stop: () => Promise<void> }> {
  const server = createServer((request, response) => {
    const name = new URL(request.url!, 'http://page').pathname
    if (!name.endsWith('.js')) {
      response.setHeader('Content-Type', 'text/html').end('<!doctype html><title>App</title>')
      return
    }
    readFile(join(folder, 'node_modules/errand-client', name)).then(
      (text) => response.setHeader('Content-Type', 'text/javascript').end(text),
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

test(
  'the packed client in Chromium, in a page of another origin, with the rules of origins on',
  { timeout: runMsMax },
  async () => {
    const browser = await openBrowser()
    const service = await startService()
    const app = await startPage(await installedProject())
    const context = await browser.newContext()
    try {
      const page = await context.newPage()
      await page.goto(app.origin)
      // The rules are on: what the service does not allow from elsewhere is not read.
      const foreign = await page.evaluate(
        (url) =>
          fetch(url, { headers: { 'X-Not-Allowed': '1' } }).then(
            (answer) => answer.status,
            () => 'refused',
          ),
        `${service.url}/api/agents`,
      )
      expect(foreign).toBe('refused')
      const program = `(async (settings) => {
      ${journeyText}
      const { createClient, isErrandError } = await import('/index.js')
      const { unwrap } = await import('/webhooks.js')
      const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
      const traced = (options) => createClient({ ...options, defaultHeaders: { traceparent } })
      return await journey({ createClient: traced, isErrandError, unwrap }, settings)
    })(${JSON.stringify(await journeySettings(service))})`
      expect(await page.evaluate(program)).toEqual(journeyResult)
    } finally {
      await context.close()
      await app.stop()
      await service.stop()
    }
  },
)
