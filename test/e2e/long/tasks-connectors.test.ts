import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import quickstart from '../../../examples/quickstart/errand.config.ts'
import { must } from '../../../server/kernel/assert.ts'
import { testConsole, type OpenConsole } from '../open-console.ts'

const everything = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'))
const server = { command: process.execPath, args: [everything, 'stdio'] }
const config = { ...quickstart, connectors: { servers: { everything: { ...server, name: 'Everything' } } } }
const params = { tool: 'echo', arguments: { message: 'Good day' } }

async function runTask({ service, visitor }: OpenConsole) {
  const key = await service.createKey(visitor.userId)
  const { body: connector } = await service.post(
    '/api/connectors',
    { name: 'Everything', server: 'everything' },
    { key },
  )
  const connectorId: string = connector.id
  const task = { endpointId: 'services.call', params, connectorIds: [connectorId] }
  const { body } = await service.post('/api/tasks', task, { key })
  const ended = (await service.get(`/api/tasks/${body.taskId}?wait=30`, key)).body
  expect(ended.status, JSON.stringify(ended.error)).toBe('completed')
  return { key, connectorId, taskId: String(body.taskId) }
}

testConsole(
  'a run with connectors can be repeated with the same connectors, from the page and its snippet',
  async (opened) => {
    const { connectorId, key, taskId } = await runTask(opened)
    const page = await opened.open(`/tasks/${taskId}`)
    const details = page.getByRole('region', { name: 'Details' })
    await details.getByRole('link', { name: 'Everything' }).waitFor()
    await details.locator('a[href^="/settings/keys/key_"]').waitFor()
    const bar = page.getByRole('img', { name: /ran .* of it in connectors$/ })
    expect((await bar.locator('> *').last().boundingBox())!.width).toBeGreaterThan(0)
    await page.getByRole('group', { name: 'output of the result' }).getByText('Echo: Good day').waitFor()
    await page.getByRole('button', { name: 'Code examples' }).click()
    await page.getByText('Run it again', { exact: true }).click()
    const snippet = page.getByRole('group', { name: 'curl command', exact: true })
    expect(await snippet.textContent()).toContain(`"connectorIds": [\n    "${connectorId}"`)
    await opened.check('task-with-connectors')
    await page.keyboard.press('Escape')

    await page.getByRole('link', { name: 'Run again' }).click()
    await page.getByText('Prefilled from').waitFor()
    const form = page.getByRole('form', { name: /^Run / })
    await form.getByText(/^Everything/).waitFor()
    await form.getByRole('button', { name: /^Run/ }).click()
    await page.waitForURL((url) => url.pathname.startsWith('/tasks/task_') && !url.pathname.endsWith(taskId))
    const again = must(new URL(page.url()).pathname.split('/').at(-1), 'the id of the new task')
    await page.getByText('Completed', { exact: true }).first().waitFor()
    const { connectorIds, status } = (await opened.service.get(`/api/tasks/${again}`, key)).body
    expect({ connectorIds, status }).toEqual({ connectorIds: [connectorId], status: 'completed' })
  },
  { config },
)

testConsole(
  'a deleted connector is shown as deleted, and must be removed from the run',
  async (opened) => {
    const { connectorId, key, taskId } = await runTask(opened)
    await opened.service.request('DELETE', `/api/connectors/${connectorId}`, { key })
    const gone = `Deleted connector …${connectorId.slice(-4)}`
    const page = await opened.open(`/tasks/${taskId}`)
    await page.getByRole('region', { name: 'Details' }).getByText(gone).waitFor()
    await page.getByRole('link', { name: 'Run again' }).click()
    const form = page.getByRole('form', { name: /^Run / })
    await form.getByText(gone).waitFor()
    await form.getByText('Remove the deleted connectors').waitFor()
    await opened.check('run-again-deleted-connector')
  },
  { config },
)
