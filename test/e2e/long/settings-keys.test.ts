import { join } from 'node:path'
import Database from 'better-sqlite3'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { usdText } from '../../../console/parts/text/usd-text.ts'
import { draftKey } from '../../../server/auth/keys/manage-keys.ts'
import { formatUsd, parseUsd } from '../../../server/kernel/money.ts'
import { testConsole, type OpenConsole } from '../open-console.ts'

const tokenPattern = /^errand_sk_[0-9A-Za-z]{36}$/

testConsole('a key can be created, works, and stops working once revoked', async (opened) => {
  const page = await opened.open('/settings/keys')
  await page.getByText('No API keys yet').waitFor()
  await opened.check('keys-empty')

  await page.getByRole('button', { name: 'Create API key' }).first().click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Create API key' }).click()
  await dialog.getByText('Enter a name').waitFor()
  expect(await focusedLabel(page)).toBe('Name')
  await opened.check('key-create')
  await dialog.getByLabel('Name').fill('deploy')
  await dialog.getByRole('button', { name: 'Show code' }).click()
  expect(await dialog.getByRole('group', { name: 'curl command', exact: true }).textContent()).toContain(
    '"name": "deploy"',
  )
  await dialog.getByRole('button', { name: 'Create API key' }).click()

  const token = (await dialog.getByLabel('New API key', { exact: true }).textContent()) ?? ''
  expect(token).toMatch(tokenPattern)
  await opened.check('key-issued')
  const command = (await dialog.getByLabel('Command with the new key', { exact: true }).textContent()) ?? ''
  expect(command).toContain(`${opened.service.url}/api/account`)
  expect(command).toContain(token)
  const line = await dialog.getByLabel('Shell command with the key', { exact: true }).textContent()
  expect(line).toBe(`export ERRAND_API_KEY='${token}'`)
  const settings = await dialog.getByLabel('MCP client settings', { exact: true }).textContent()
  expect(JSON.parse(settings ?? '').mcpServers.errand).toEqual({
    url: `${opened.service.url}/mcp`,
    headers: { Authorization: `Bearer ${token}` },
  })
  await dialog.getByRole('button', { name: 'Copy API key' }).click()
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(token)
  expect((await opened.service.get('/api/account', token)).status).toBe(200)

  // Escape, clicks outside and the browser's back button all leave the key visible.
  await page.keyboard.press('Escape')
  await dialog.getByText('Have you stored the key?').waitFor()
  await opened.check('key-leaving')
  await dialog.getByRole('button', { name: 'Back to key' }).click()
  expect(await dialog.getByLabel('New API key', { exact: true }).textContent()).toBe(token)
  await page.mouse.click(5, 400)
  expect(await dialog.getByLabel('New API key', { exact: true }).textContent()).toBe(token)
  await page.evaluate(() => history.pushState(null, '', '/tasks'))
  await page.getByRole('heading', { name: 'Tasks', level: 1 }).waitFor()
  await page.goBack()
  expect(await dialog.getByLabel('New API key', { exact: true }).textContent()).toBe(token)
  await dialog.getByRole('button', { name: 'I have stored the key' }).click()
  await dialog.waitFor({ state: 'detached' })
  expect(await page.content()).not.toContain(token)

  const row = page.getByRole('table', { name: 'Active API keys' }).getByRole('row', { name: 'deploy' })
  await row.getByText(`…${token.slice(-4)}`).waitFor()
  await row.getByText('Read, Execute').waitFor()
  await row.getByRole('button', { name: 'Actions for deploy' }).click()
  await page.getByRole('menuitem', { name: 'Revoke' }).click()
  await dialog.getByText('stops working immediately').waitFor()
  await opened.check('key-revoke')
  await dialog.getByRole('button', { name: 'Revoke key' }).click()
  const ended = page.getByRole('table', { name: 'Revoked and expired keys' }).getByRole('row', { name: 'deploy' })
  await ended.getByText('Revoked').waitFor()
  expect((await opened.service.get('/api/account', token)).status).toBe(401)
  await page.waitForFunction(() => document.activeElement?.tagName === 'H1')
})

testConsole('a key can be rotated by keyboard alone, and the old one works during the overlap', async (opened) => {
  const { service, visitor } = opened
  const old = await service.createKey(visitor.userId)
  const page = await opened.open('/settings/keys')
  const actions = page.getByRole('button', { name: 'Actions for test' })
  await actions.focus()
  await page.keyboard.press('Enter')
  const item = (name: string) => page.locator('[role="menuitem"]:focus', { hasText: name })
  await item('Edit limits').waitFor()
  const isBack = () => actions.evaluate((button) => button === document.activeElement)
  await page.keyboard.press('Escape')
  await expect.poll(isBack).toBe(true)
  await page.keyboard.press('Enter')
  await item('Edit limits').waitFor()
  await page.keyboard.press('ArrowDown')
  await item('Rotate').waitFor()
  await page.keyboard.press('Enter')
  const dialog = page.getByRole('dialog')
  await page.waitForFunction(() => document.activeElement?.tagName === 'SELECT')
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  await expect.poll(isBack).toBe(true)
  await page.keyboard.press('Enter')
  await item('Edit limits').waitFor()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await page.waitForFunction(() => document.activeElement?.tagName === 'SELECT')
  expect(await dialog.getByLabel('Old key expires').inputValue()).toBe('86400')
  await opened.check('key-rotate')
  await pressTo(page, 'Rotate key')
  await page.keyboard.press('Enter')
  const secret = dialog.getByLabel('New API key', { exact: true })
  await secret.waitFor()
  const token = (await secret.textContent()) ?? ''
  expect(await page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toBe('New API key')
  await dialog.getByText(`The old key …${old.slice(-4)} works until`).waitFor()
  await pressTo(page, 'I have stored the key')
  await page.keyboard.press('Enter')
  await dialog.waitFor({ state: 'detached' })
  for (const key of [old, token]) expect((await service.get('/api/account', key)).status).toBe(200)
  await page.getByText('Expires soon').waitFor()
  await page.getByText(`Replaced by …${token.slice(-4)}`).waitFor()

  await page
    .getByRole('row')
    .filter({ hasText: `Replaces …${old.slice(-4)}` })
    .getByRole('button', { name: 'Actions for test' })
    .click()
  await page.getByRole('menuitem', { name: 'Rotate' }).waitFor()
  await opened.check('key-menu')
  await page.getByRole('menuitem', { name: 'Rotate' }).click()
  await dialog.getByLabel('Old key expires').selectOption('0')
  await dialog.getByRole('button', { name: 'Rotate key' }).click()
  await dialog.getByText(`The old key …${token.slice(-4)} has stopped working`).waitFor()
  expect((await service.get('/api/account', token)).status).toBe(401)
})

testConsole(
  'scopes and expiry are stored as chosen, and an invalid number of days is reported at its field',
  async (opened) => {
    const page = await opened.open('/settings/keys')
    const dialog = page.getByRole('dialog')
    await page.getByRole('button', { name: 'Create API key' }).first().click()
    await dialog.getByLabel('Name').fill('reader')
    for (const scope of ['Read', 'Execute', 'Manage']) {
      await dialog.getByLabel(scope, { exact: true }).uncheck()
    }
    await dialog.getByLabel('Expires').selectOption('other')
    await dialog.getByLabel('Days', { exact: true }).fill('0')
    await dialog.getByRole('button', { name: 'Create API key' }).click()
    await dialog.getByText('Select at least one').waitFor()
    await dialog.getByText('Enter a whole number from 1 to 3650').waitFor()
    await opened.check('key-create-errors')
    await dialog.getByLabel('Execute', { exact: true }).check()
    await dialog.getByLabel('Days', { exact: true }).fill('45')
    await dialog.getByRole('button', { name: 'Create API key' }).click()
    const token = (await dialog.getByLabel('New API key', { exact: true }).textContent()) ?? ''
    // For a key without read permission, the suggested command creates a session.
    const command = (await dialog.getByLabel('Command with the new key', { exact: true }).textContent()) ?? ''
    const agentId = /"agentId":"([^"]+)"/.exec(command)?.[1]
    expect((await opened.service.post('/api/sessions', { agentId }, { key: token })).status).toBe(200)
    expect((await opened.service.get('/api/account', token)).status).toBe(403)
    await page.keyboard.press('Escape')
    await dialog.getByRole('button', { name: 'Close anyway' }).click()
    await dialog.waitFor({ state: 'detached' })
    const { keys } = await opened.service.app.store.listKeys({ userId: opened.visitor.userId, limit: 9, offset: 0 })
    expect(keys).toHaveLength(1)
    expect(keys[0]).toMatchObject({ name: 'reader', scopes: ['execute'] })
    expect(Math.round((keys[0]!.expiresAt! - keys[0]!.createdAt) / 86_400_000)).toBe(45)
  },
)

testConsole(
  'old keys show that rotation is due, inactive keys are listed separately, and the list has pages',
  async (opened) => {
    const { service, visitor } = opened
    const { store } = service.app
    for (let n = 0; n < 55; n++) await add(opened, `key ${n}`, n === 3 ? Date.now() + 86_400_000 : null)
    const { keys } = await store.listKeys({ userId: visitor.userId, limit: 100, offset: 0 })
    await store.revokeKey({ userId: visitor.userId, keyId: keys[52]!.id })
    age(service.dataDir, { id: keys[54]!.id, days: 91 })
    const page = await opened.open('/settings/keys')
    await page.getByText('1–50 of 54').waitFor()
    expect(await page.getByText('older than 90 days').count()).toBe(0)
    await page.getByRole('button', { name: 'Next' }).click()
    await page.getByText('51–54 of 54').waitFor()
    expect(new URL(page.url()).search).toBe('?offset=50')
    await page.getByText('key 0 is older than 90 days').waitFor()
    await page.getByRole('row', { name: 'key 0' }).getByText('Rotation due').waitFor()
    await page.getByRole('row', { name: 'key 3' }).getByText('Expires soon').waitFor()
    await page.getByRole('table', { name: 'Revoked and expired keys' }).getByText('key 2').waitFor()
    await opened.check('keys-filled')
    await page.goBack()
    await page.getByText('1–50 of 54').waitFor()
  },
)

testConsole(
  "a key's page shows its limits, spending, runs and failures, and revokes it; Enter creates a key with safe rights",
  async (opened) => {
    opened.allow(/status of 404/)
    const page = await opened.open('/settings/keys')
    const dialog = page.getByRole('dialog')
    await page.getByRole('button', { name: 'Create API key' }).first().click()
    await dialog.getByLabel('All scopes, no expiry').check()
    await dialog.getByLabel('Manage', { exact: true }).waitFor()
    expect(await dialog.getByLabel('Manage', { exact: true }).isChecked()).toBe(true)
    expect(await dialog.getByLabel('Expires').inputValue()).toBe('')
    await dialog.getByLabel('Manage', { exact: true }).uncheck()
    expect(await dialog.getByRole('radio', { checked: true }).count()).toBe(0)
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Create API key' }).first().click()
    await dialog.getByRole('radio', { name: 'Read and execute, 90 days', checked: true }).waitFor()
    await page.keyboard.type('worker')
    await page.keyboard.press('Enter')
    const token = (await dialog.getByLabel('New API key', { exact: true }).textContent()) ?? ''
    await dialog.getByRole('button', { name: 'I have stored the key' }).click()
    await dialog.waitFor({ state: 'detached' })
    const { service, visitor } = opened
    const { keys } = await service.app.store.listKeys({ userId: visitor.userId, limit: 9, offset: 0 })
    const { createdAt, expiresAt, id: keyId, scopes } = keys[0]!
    expect([scopes, Math.round((expiresAt! - createdAt) / 86_400_000)]).toEqual([['read', 'execute'], 90])
    const limits = { spendLimit: 200, spendReset: 'month' as const, rateLimit: 30, agents: ['demo', 'text'] }
    await service.app.store.updateKey({ userId: visitor.userId, keyId, changes: limits })
    await service.runTask(token, 'demo.wait', { seconds: 0 })
    await service.runTask(token, 'demo.fail', { reason: 'It broke' })

    await opened.open('/settings/keys')
    // A click beside the link opens the row too; one in the dialog that the row opens does not.
    await page.getByRole('button', { name: 'Actions for worker' }).click()
    await page.getByRole('menuitem', { name: 'Revoke' }).click()
    await dialog.getByText('stops working immediately').click()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await dialog.waitFor({ state: 'detached' })
    await page.getByRole('row', { name: 'worker' }).getByText('Read, Execute').click()
    await page.waitForURL(`**/settings/keys/${keyId}`)
    await page.getByRole('heading', { name: 'worker', level: 1 }).waitFor()
    await page.getByText(`errand_sk_…${token.slice(-4)}`).waitFor()
    const usage = page.getByRole('region', { name: 'Usage' })
    const tile = (label: string) => usage.locator('dl > div', { hasText: label })
    await tile('Executions in the last 30 days').getByText('2', { exact: true }).waitFor()
    await tile('Failures in the last 30 days').getByText('50%').waitFor()
    const { groups = [] } = await opened.service.get('/api/usage?days=1&groupBy=key', token).then(({ body }) => body)
    const { refundedUsd, spentUsd } = groups.find(({ value }: { value: string }) => value === keyId)
    const spent = usdText(formatUsd(parseUsd(spentUsd)! - parseUsd(refundedUsd)!))
    expect(spent).not.toBe('$0.00')
    for (const label of ['Spent today', 'Spent in the last 30 days']) await tile(label).getByText(spent).waitFor()
    await page.getByRole('progressbar', { name: 'Spend of worker' }).waitFor()
    await page.getByText(`${spent} of $0.0200 per month, resets`).waitFor()
    await opened.check('key-page')
    await usage.getByRole('link', { name: 'View tasks' }).click()
    await page.waitForURL(`**/tasks?key=${keyId}`)
    await page.getByText('1–2 of 2').waitFor()
    await page.goBack()

    await page.getByRole('button', { name: 'Revoke key', exact: true }).click()
    await dialog.getByRole('button', { name: 'Revoke key' }).click()
    await page.getByText('Revoked', { exact: true }).first().waitFor()
    expect(await page.getByRole('button', { name: /Rotate|Edit|Revoke/ }).count()).toBe(0)
    expect((await service.get('/api/account', token)).status).toBe(401)
    await opened.open('/settings/keys/key_0')
    await page.getByText('No API key with this ID').waitFor()
  },
)

testConsole(
  'client tokens are listed with their creator, rights, spend and cap, and can be revoked',
  async (opened) => {
    opened.allow(/status of 404/)
    const { service, visitor } = opened
    const key = await service.createKey(visitor.userId)
    const page = await opened.open('/settings/keys')
    await page.getByText('No active client tokens').waitFor()
    const { sessionId } = (await service.post('/api/sessions', { agentId: 'assistant' }, { key })).body
    const draft = { maxCostUsd: '0.02', agents: ['text'], once: true }
    const { token } = (await service.post('/api/client-tokens', draft, { key })).body
    await service.post('/api/client-tokens', { sessionId, scopes: ['read'] }, { key })
    expect((await service.createTask(token, 'text.summarize', { text: 'One sentence.' })).status).toBe(200)
    const uncapped = await page.evaluate(async () => {
      const draft = { method: 'POST', body: '{}', headers: { 'Content-Type': 'application/json' } }
      return (await (await fetch('/api/client-tokens', draft)).json()).token as string
    })
    expect((await service.createTask(uncapped, 'text.summarize', { text: 'One sentence.' })).status).toBe(200)
    await page.reload()
    const table = page.getByRole('table', { name: 'Client tokens' })
    const row = table.getByRole('row', { name: 'Only text, one execution' })
    await row.getByText('Read, Execute').waitFor()
    await row.getByText('$0.0100 of $0.0200').waitFor()
    await row.getByRole('link', { name: `test …${key.slice(-4)}` }).waitFor()
    const bound = table.getByRole('row', { name: 'One chat' })
    expect(await bound.getByRole('link', { name: 'One chat' }).getAttribute('href')).toBe(`/chat/${sessionId}`)
    const ofLogin = table.getByRole('row', { name: 'Browser login' })
    await ofLogin.getByText('All agents').waitFor()
    await ofLogin.getByText('$0.0100', { exact: true }).waitFor()
    await opened.check('client-tokens')
    await row.getByRole('button', { name: 'Revoke the token' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke token' }).click()
    await row.waitFor({ state: 'detached' })
    expect((await service.get('/api/tasks', token)).status).toBe(401)
    await page.getByText('1–2 of 2').waitFor()
  },
)

testConsole('the dialog shows the reason if the service rejects a request', async (opened) => {
  opened.allow(/status of 409/)
  const { service, visitor } = opened
  await add(opened, 'replaced', null)
  const page = await opened.open('/settings/keys')
  const dialog = page.getByRole('dialog')
  await page.getByRole('button', { name: 'Actions for replaced' }).click()
  await page.getByRole('menuitem', { name: 'Rotate' }).click()
  const { keys } = await service.app.store.listKeys({ userId: visitor.userId, limit: 9, offset: 0 })
  await service.app.store.revokeKey({ userId: visitor.userId, keyId: keys[0]!.id })
  await dialog.getByRole('button', { name: 'Rotate key' }).click()
  await dialog.getByText('already rotated').waitFor()
  await opened.check('key-refused')
})

async function add({ service, visitor }: OpenConsole, name: string, expiresAt: number | null): Promise<void> {
  const { key } = draftKey({ userId: visitor.userId, name, scopes: ['read'], expiresAt })
  await service.app.store.createKey(key)
}

/** Moves a key's creation into the past, which no operation can do. */
function age(dataDir: string, { id, days }: { id: string; days: number }): void {
  const database = new Database(join(dataDir, 'errand.db'))
  database.prepare('UPDATE api_keys SET created_at = created_at - ? WHERE id = ?').run(days * 86_400_000, id)
  database.close()
}

async function pressTo(page: Page, button: string): Promise<void> {
  for (let presses = 0; presses < 20; presses++) {
    if ((await page.evaluate(() => document.activeElement?.textContent)) === button) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`Tab does not reach "${button}"`)
}

async function focusedLabel(page: Page): Promise<string | null | undefined> {
  await page.waitForFunction(() => document.activeElement?.getAttribute('aria-invalid') === 'true')
  return await page.evaluate(() => (document.activeElement as HTMLInputElement).labels?.[0]?.textContent)
}
