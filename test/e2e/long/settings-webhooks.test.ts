import { expect } from 'vitest'
import { startReceiver } from '../../webhooks/receiver.ts'
import { testConsole } from '../open-console.ts'

const options = { privateHosts: ['127.0.0.1'] }

testConsole(
  'a webhook can be added by keyboard, shows its secret once, and receives events',
  async (opened) => {
    const receiver = await startReceiver()
    const page = await opened.open('/settings/keys')
    await page.getByRole('navigation', { name: 'Settings' }).getByRole('link', { name: 'Webhooks' }).click()
    await page.getByText('No webhooks yet').waitFor()
    await opened.check('webhooks-empty')
    await page.getByRole('button', { name: 'Add webhook' }).first().focus()
    await page.keyboard.press('Enter')
    const dialog = page.getByRole('dialog')
    const address = dialog.getByRole('textbox', { name: 'URL' })
    await dialog.getByRole('button', { name: 'Add webhook' }).click()
    await dialog.getByText('Enter the URL of your server').waitFor()
    opened.allow(/status of 400/)
    await address.fill('http://10.0.0.1/')
    await address.press('Enter')
    await expect.poll(() => address.getAttribute('aria-invalid')).toBe('true')
    await address.fill(`${receiver.url}/events`)
    await dialog.getByLabel('Description').fill('My receiver')
    await dialog.getByLabel('All events').uncheck()
    await dialog.getByRole('button', { name: 'Add webhook' }).click()
    await dialog.getByText('Select at least one').waitFor()
    await dialog.getByLabel('Task completed').check()
    await opened.check('webhook-form')
    await dialog.getByRole('button', { name: 'Add webhook' }).click()
    await page.getByRole('dialog', { name: 'Store the secret' }).waitFor()
    const secret = await dialog.getByRole('group', { name: 'Signing secret' }).textContent()
    expect(secret).toMatch(/^whsec_[\w+/=]+$/)
    // Escape must not close the dialog, because the secret would be lost.
    await page.keyboard.press('Escape')
    await opened.check('webhook-secret')
    await dialog.getByRole('button', { name: 'Copy secret' }).click()
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(secret)
    await dialog.getByRole('button', { name: 'I have stored the secret' }).click()
    await page.waitForURL('**/settings/webhooks/*')
    await page.getByRole('heading', { name: 'My receiver' }).waitFor()
    expect(await page.content(), 'the secret is not kept').not.toContain(secret!)
    await page.getByText('No deliveries in the last 7 days').waitFor()

    await page.getByRole('button', { name: 'Send test event' }).click()
    await page.getByText('Test event: delivered, HTTP 200.').waitFor()
    const key = await opened.service.createKey(opened.visitor.userId)
    await opened.service.createTask(key, 'demo.wait', { seconds: 0 })
    await receiver.waitFor(2, '/events')
    const table = page.getByRole('table', { name: 'Deliveries' })
    await table.getByText('task.completed').waitFor()
    await table.getByText('webhook.test').waitFor()
    await page.getByText(/^95% within \d+ ms$/).waitFor()
    const { id: taskId } = (await opened.service.get('/api/tasks', key)).body.tasks[0]
    const task = table.getByRole('link', { name: `Task …${taskId.slice(-8)}` })
    expect(await task.getAttribute('href')).toBe(`/tasks/${taskId}`)
    await opened.check('webhook')
    await page.getByRole('button', { name: 'Code examples' }).click()
    await page.getByRole('dialog').getByText("import { unwrap } from 'errand-client/webhooks'").waitFor()
    await opened.check('webhook-code')
    await page.keyboard.press('Escape')
    await table.getByRole('button', { name: /^Send task\.completed/ }).click()
    await receiver.waitFor(3, '/events')
    const [, first, again] = receiver.of('/events')
    expect([again!.id, again!.body]).toEqual([first!.id, first!.body])

    await page.getByRole('textbox', { name: 'Delivery status' }).click()
    await page.getByRole('option', { name: 'Failed' }).click()
    await page.getByText('No deliveries with this status').waitFor()
    await receiver.stop()
  },
  options,
)

testConsole(
  'a failing webhook is shown as failing, and can be changed, disabled and deleted',
  async (opened) => {
    const receiver = await startReceiver()
    receiver.answers.set('/broken', (_, response) => response.writeHead(500, { 'x-of': 'receiver' }).end('boom'))
    const { page, service } = opened
    const key = await service.createKey(opened.visitor.userId)
    const body = { url: `${receiver.url}/broken` }
    const { id } = (await service.post('/api/webhooks', body, { key })).body
    await opened.open(`/settings/webhooks/${id}`)
    await page.getByRole('button', { name: 'Send test event' }).click()
    await page.getByText(/^Test event: .*500/).waitFor()
    await page.getByRole('table', { name: 'Deliveries' }).getByText(/500/).first().waitFor()
    await page.getByText('0% of the last delivery').waitFor()
    await opened.open('/settings/webhooks')
    await page.getByRole('table', { name: 'Webhooks' }).getByText('0% of the last delivery').waitFor()
    await page.getByRole('link', { name: body.url }).click()
    await page.getByText('0% of the last delivery').waitFor()
    await opened.check('webhook-failing')
    await service.createTask(key, 'demo.wait', { seconds: 0 })
    const [, sent] = await receiver.waitFor(2, '/broken')
    await page.getByRole('link', { name: 'task.completed' }).click()
    const pane = page.getByRole('dialog', { name: 'task.completed' })
    await pane.getByRole('group', { name: 'Response body' }).waitFor()
    expect(await pane.getByRole('group', { name: 'Response body' }).textContent()).toBe('boom')
    expect(await pane.getByRole('group', { name: 'Response head' }).textContent()).toMatch(
      /^HTTP\/1.1 500.*\nx-of: receiver/,
    )
    expect(await pane.getByRole('group', { name: 'Request body' }).textContent()).toBe(sent!.body)
    const head = await pane.getByRole('group', { name: 'Request head' }).textContent()
    for (const name of ['content-type', 'user-agent', 'webhook-id'])
      expect(head).toContain(`\n${name}: ${String(sent!.headers[name])}\n`)
    // The delivery may have been retried by now.
    expect(receiver.of('/broken').map(({ headers }) => headers['webhook-timestamp'])).toContain(
      /webhook-timestamp: (\d+)/.exec(head!)?.[1],
    )
    expect(head).not.toContain('v1,')
    await pane.getByRole('table', { name: 'Attempts' }).getByText(/500/).first().waitFor()
    await opened.check('webhook-delivery')
    await pane.getByRole('link', { name: /^task_/ }).click()
    await page.getByRole('heading', { name: 'demo.wait' }).waitFor()
    await page.goBack()
    await page.getByRole('button', { name: 'Close' }).click()
    await pane.waitFor({ state: 'hidden' })

    await page.getByRole('button', { name: 'Edit' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('textbox', { name: 'URL' }).fill(`${receiver.url}/right`)
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByText(`${receiver.url}/right`).first().waitFor()
    await page.getByRole('button', { name: 'Rotate secret' }).click()
    await dialog.getByRole('button', { name: 'Rotate secret' }).click()
    await dialog.getByText(/events are also signed with the old secret/).waitFor()
    await dialog.getByRole('button', { name: 'I have stored the secret' }).click()
    await page.getByText('Old secret expires').waitFor()

    await page.getByRole('button', { name: 'Turn off' }).click()
    await dialog.getByRole('button', { name: 'Turn off' }).click()
    await page.getByText('You turned the webhook off').waitFor()
    await page.getByRole('button', { name: 'Send test event' }).click()
    await page.getByText('Test event: delivered, HTTP 200.').waitFor()
    await page.getByText(/(50% of the last 2|66% of the last 3) deliveries/).waitFor()
    await opened.check('webhook-off')
    await page.getByRole('button', { name: 'Turn on' }).click()
    await page.getByRole('button', { name: 'Turn off' }).waitFor()
    await page.getByRole('button', { name: 'Delete' }).click()
    await dialog.getByRole('button', { name: 'Delete webhook' }).click()
    await page.getByText('No webhooks yet').waitFor()
    // The service answers 404 for the deleted webhook.
    opened.allow(/status of 404/)
    await opened.open(`/settings/webhooks/${id}`)
    await page.getByText('No webhook with this ID').waitFor()
    await receiver.stop()
  },
  options,
)
