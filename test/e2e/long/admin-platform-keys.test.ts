import { expect } from 'vitest'
import { testConsole } from '../open-console.ts'

testConsole(
  'an admin can create a platform key bound to IP addresses, and revoke it',
  async (opened) => {
    opened.allow(/status of 40[0134]/)
    const page = await opened.open('/admin/platform-keys')
    await page.getByText('No platform keys yet').waitFor()
    await opened.check('platform-keys-empty')
    await page.getByRole('button', { name: 'Create platform key' }).first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Create platform key' }).click()
    await dialog.getByText('Enter a name').waitFor()
    await dialog.getByText('Select at least one').waitFor()
    await dialog.getByLabel('Name').fill('shop')
    expect(await dialog.getByLabel('Credit limit per day in USD').count()).toBe(0)
    for (const scope of ['Users', 'Credit', 'Act']) await dialog.getByLabel(scope, { exact: true }).check()
    await dialog.getByLabel('Credit limit per day in USD').fill('much')
    await dialog.getByRole('button', { name: 'Create platform key' }).click()
    await dialog
      .getByText('Enter an amount in USD with at most four decimal places, or leave this field empty')
      .waitFor()
    await dialog.getByLabel('Credit limit per day in USD').fill('7.5')
    await dialog.getByLabel('Allowed IP addresses').fill('127.0.0.1, nowhere')
    await dialog.getByRole('button', { name: 'Create platform key' }).click()
    await dialog.getByText('Must be an IP address or a network').waitFor()
    await opened.check('platform-key-refused')
    await dialog.getByLabel('Allowed IP addresses').fill('127.0.0.1\n2001:db8::/32')
    await dialog.getByRole('button', { name: 'Create platform key' }).click()

    const key = (await dialog.getByLabel('Platform key', { exact: true }).textContent()) ?? ''
    expect(key).toMatch(/^errand_pk_[0-9A-Za-z]{36}$/)
    await opened.check('platform-key-issued')
    await page.keyboard.press('Escape')
    expect(await dialog.getByLabel('Platform key', { exact: true }).textContent()).toBe(key)
    await dialog.getByRole('button', { name: 'I have stored the key' }).click()
    await dialog.waitFor({ state: 'detached' })
    expect(await page.content()).not.toContain(key)

    const { body: user } = await opened.service.request('PUT', '/api/users/by-external-id/customer-1', { key })
    const credit = { amountUsd: '2.5', reason: 'Order 1' }
    expect((await opened.service.post(`/api/users/${user.id}/credit`, credit, { key })).status).toBe(200)
    await page.reload()
    const row = page.getByRole('row', { name: /shop/ })
    await row.getByText('Users, Credit, Act').waitFor()
    await row.getByText('$2.50 of $7.50').waitFor()
    await row.getByText('2001:db8::/32').waitFor()
    await row.getByText('Active').waitFor()
    await opened.check('platform-keys')

    const { body: token } = await opened.service.post(
      '/api/client-tokens',
      {},
      { key, headers: { 'Errand-User': user.id } },
    )
    const { platform } = opened.service.app.store
    const { keys } = await platform.listKeys({ limit: 1, offset: 0 })
    const at = Date.now()
    await platform.touchKeys([{ keyId: keys[0]!.id, at, addresses: [{ address: '203.0.113.7', at }] }])
    await row.getByRole('link', { name: 'shop' }).click()
    await page.getByRole('heading', { name: 'shop' }).waitFor()
    await page.getByText(/^203\.0\.113\.7, /).waitFor()
    await page.getByRole('table', { name: 'Credit per day' }).getByText('$2.5000').waitFor()
    expect(await page.getByText('Users created').locator('xpath=following-sibling::*[1]').textContent()).toBe('1')
    await opened.check('platform-key')
    const tokens = page.getByRole('table', { name: 'Client tokens' })
    await tokens.getByRole('button', { name: /^Revoke the token/ }).click()
    await dialog.getByRole('button', { name: 'Revoke token' }).click()
    await page.getByText('No active client tokens').waitFor()
    expect((await opened.service.get('/api/account', token.token)).status).toBe(401)
    await page.getByRole('link', { name: 'Platform keys' }).last().click()

    await row.getByRole('button', { name: 'Revoke platform key shop' }).click()
    await dialog.getByText('created with it stop working immediately').waitFor()
    await dialog.getByRole('button', { name: 'Revoke platform key' }).click()
    await row.getByText('Revoked').waitFor()
    expect((await opened.service.get('/api/users', key)).status).toBe(401)
    expect(await row.getByRole('button').count()).toBe(0)
  },
  { isAdmin: true },
)
