import { expect } from 'vitest'
import { must } from '../../../server/kernel/assert.ts'
import { testConsole } from '../open-console.ts'

testConsole(
  'an invited person opens the link in another browser and is logged in with the credit',
  async (opened) => {
    opened.allow(/status of 40[0149]/)
    const page = await opened.open('/admin/invitations')
    await page.getByText('No invitations yet').waitFor()
    await opened.check('admin-invitations-empty')
    await opened.open('/admin/users')
    await page.getByRole('link', { name: 'Invite user' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Create invite link' }).click()
    await dialog.getByText('Enter an email address').waitFor()
    await dialog.getByLabel('Email').fill('no address')
    await dialog.getByLabel('Starting credit in USD').fill('-1')
    await dialog.getByRole('button', { name: 'Create invite link' }).click()
    await dialog
      .getByText('Enter an amount in USD with at most four decimal places, or leave this field empty')
      .waitFor()
    await dialog.getByLabel('Starting credit in USD').fill('7.5')
    await dialog.getByRole('button', { name: 'Create invite link' }).click()
    await page.locator('input[name="email"][aria-invalid="true"]:focus').waitFor()
    await opened.check('admin-invite-refused')
    await dialog.getByLabel('Email').fill('ADA@example.com')
    await dialog.getByRole('button', { name: 'Create invite link' }).click()
    await dialog.getByText('A user with the email address').waitFor()
    await dialog.getByLabel('Email').fill('grace@example.com')
    await dialog.getByLabel('Make this user an admin').check()
    await dialog.getByRole('button', { name: 'Create invite link' }).click()

    const url = must(await dialog.getByRole('group', { name: 'Link' }).textContent(), 'a link')
    await dialog.getByText('The account will start with a balance of $7.50.').waitFor()
    await opened.check('admin-invite-link')
    await dialog.getByRole('button', { name: 'Done' }).click()
    expect(new URL(page.url()).search).toBe('')
    await page.getByRole('row', { name: /grace@example\.com Invitation Admin \$7\.50 Open .*in \d days/ }).waitFor()

    const theirs = await opened.newVisit()
    await opened.open(url, theirs)
    await theirs.getByLabel('Password', { exact: true }).fill('a long password of grace')
    await theirs.getByRole('button', { name: 'Create account' }).click()
    await theirs.getByRole('link', { name: /Balance \$7\.50/ }).waitFor()
    await theirs.getByRole('link', { name: 'Admin' }).waitFor()

    await opened.open('/admin/invitations')
    await page.getByRole('row', { name: /grace@example\.com Invitation Admin \$7\.50 Accepted/ }).waitFor()
    expect(await page.getByRole('button', { name: /Revoke/ }).count()).toBe(0)
    await page.getByRole('link', { name: 'grace@example.com' }).click()
    await page.getByText('1–1 of 1').waitFor()
  },
  { isAdmin: true },
)

testConsole(
  'an admin can invite a person and revoke the invitation by keyboard alone',
  async (opened) => {
    opened.allow(/status of 404/)
    const page = await opened.open('/admin/invitations?dialog=invite')
    await page.locator('input[name="email"]:focus').waitFor()
    await page.keyboard.type('grace@example.com')
    await page.keyboard.press('Enter')
    await page.locator('[aria-label="Link"]:focus').waitFor()
    const url = must(await page.getByRole('group', { name: 'Link' }).textContent(), 'a link')
    // Escape must not close the dialog, because the link would be lost.
    await page.keyboard.press('Escape')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Tab')
    await page.locator('button:focus', { hasText: 'Done' }).waitFor()
    await page.keyboard.press('Enter')
    const revoke = page.getByRole('button', { name: 'Revoke invitation for grace@example.com' })
    await revoke.waitFor()
    await opened.check('admin-invitations')
    await revoke.focus()
    await page.keyboard.press('Enter')
    await page.locator('button:focus', { hasText: 'Cancel' }).waitFor()
    await opened.check('admin-invitation-revoke')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.getByText('No invitations yet').waitFor()
    const theirs = await opened.newVisit()
    await opened.open(url, theirs)
    await theirs.getByText('This link does not work').waitFor()

    await page.evaluate(() =>
      fetch('/api/invitations', {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: '{"email":"grace@example.com"}',
      }),
    )
    await page.reload()
    await revoke.click()
    const { invitations } = await opened.service.app.store.listInvitations({ limit: 1, offset: 0 })
    await opened.service.app.store.revokeInvitation(invitations[0]!.id)
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    await page.getByText('Could not revoke the link, because it was already used or revoked').waitFor()
    await page.getByText('No invitations yet').waitFor()
  },
  { isAdmin: true },
)
