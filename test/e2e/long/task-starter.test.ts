import { expect } from 'vitest'
import { PlatformCalls } from '../../api/platform-calls.ts'
import { expectStatus } from '../../api/signed-in.ts'
import { testConsole } from '../open-console.ts'

testConsole('the task page names the credential that started the task', async (opened) => {
  const { page, service, visitor } = opened
  const key = await service.createKey(visitor.userId)
  const platform = await PlatformCalls.open(service)
  const { id: tokenId, token } = await expectStatus(200, service.post('/api/client-tokens', {}, { key }))
  const keyId = (await service.get('/api/keys', await service.createKey(visitor.userId, ['manage']))).body.keys[1].id
  const task = { endpointId: 'text.keywords', params: { text: 'One two' } }
  const starter = page.getByRole('region', { name: 'Details' }).locator('dt', { hasText: 'Started by' }).locator('+ dd')
  const open = async (created: Promise<{ status: number; body: any }>) => {
    const { body } = await created
    await opened.open(`/tasks/${body.taskId}`)
    await page.getByText('Completed', { exact: true }).first().waitFor()
  }

  await open(service.post('/api/tasks', task, { key }))
  await starter.locator(`a[href="/settings/keys/${keyId}"]`).waitFor()
  await open(service.post('/api/tasks', task, { key: token }))
  await starter.getByRole('link', { name: `Client token …${tokenId.slice(-4)}` }).click()
  await page.getByRole('heading', { name: 'Client tokens' }).waitFor()
  await open(platform.post('/api/tasks', task, { user: visitor.userId }))
  expect(await starter.textContent()).toBe('Platform key')
  const send = async (body: object) => {
    const headers = { 'Content-Type': 'application/json' }
    const answer = await fetch('/api/tasks', { method: 'POST', headers, body: JSON.stringify(body) })
    return { status: answer.status, body: await answer.json() }
  }
  await open(page.evaluate(send, task))
  expect(await starter.textContent()).toBe('Browser login')
  await opened.check('task-started-by')
})
