import { expect } from 'vitest'
import { announced, callApi, chatConfig, createChat, messageBox, scriptReply } from '../chat-console.ts'
import { testConsole } from '../open-console.ts'

testConsole(
  'a chat can be started, written, expanded, configured and stopped by keyboard alone',
  async (opened) => {
    const page = await opened.open('/chat')
    const { keyboard } = page
    const tabTo = async (name: string, key = 'Tab') => {
      for (let presses = 0; presses < 40; presses++) {
        await keyboard.press(key)
        const label = await page.evaluate(() => {
          const { activeElement: control } = document
          return control?.matches('a, button, textarea') ? (control.ariaLabel ?? control.textContent) : ''
        })
        if (label?.includes(name)) return
      }
      throw new Error(`the keyboard does not reach ${name}`)
    }
    await tabTo('New chat')
    await keyboard.press('Enter')
    await page.getByRole('radio', { name: 'Writer' }).waitFor()
    await page.waitForFunction(() => document.activeElement?.tagName === 'TEXTAREA')
    scriptReply('Two\nlines', { do: 'tell', what: 'params' }, { do: 'call', id: 'a', name: 'look_up' })
    await keyboard.type('Two')
    await keyboard.press('Shift+Enter')
    await keyboard.type('lines')
    expect(await messageBox(page).inputValue()).toBe('Two\nlines')
    // Enter during IME composition, as in Japanese, does not send.
    await messageBox(page).dispatchEvent('keydown', { key: 'Enter', isComposing: true })
    expect(await messageBox(page).inputValue()).toBe('Two\nlines')

    await tabTo('Options')
    await keyboard.press('Enter')
    await page.getByRole('textbox', { name: 'Temperature' }).waitFor()
    await page.waitForFunction(() => document.activeElement?.tagName === 'INPUT')
    await keyboard.type('3')
    await page.getByText('Must be from 0 to 2').waitFor()
    expect(await page.getByRole('button', { name: 'Send', exact: true, includeHidden: true }).isDisabled()).toBe(true)
    await opened.check('chat-options')
    // The check resizes the window, which can hide the options for a moment and so take the focus from the field.
    await page.getByRole('textbox', { name: 'Temperature' }).focus()
    await keyboard.press('End')
    await keyboard.press('Backspace')
    await keyboard.type('0.5')
    await keyboard.press('Escape')
    await page.getByRole('button', { name: 'Options (1)' }).waitFor()
    await page.waitForFunction(() => document.activeElement?.getAttribute('aria-label') === 'Options (1)')
    await tabTo('Message Writer', 'Shift+Tab')
    await keyboard.press('Enter')
    await announced(page, 'The reply is complete')
    await page.getByText('{"temperature":0.5}', { exact: true }).waitFor()
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('TEXTAREA')

    await tabTo('look_up', 'Shift+Tab')
    await keyboard.press('Enter')
    await page.getByRole('group', { name: 'arguments of look_up' }).waitFor()
    await page.getByText('No result').waitFor()

    await messageBox(page).focus()
    scriptReply('On and on', { do: 'text', delta: 'On' }, { do: 'await-abort' })
    await keyboard.type('On and on')
    await keyboard.press('Enter')
    await page.getByText('On', { exact: true }).waitFor()
    await tabTo('Stop')
    await keyboard.press('Enter')
    await announced(page, 'The reply was cut off')
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('TEXTAREA')

    await keyboard.press('ArrowUp')
    expect(await messageBox(page).inputValue()).toBe('On and on')
    await keyboard.press('Enter')
    await page.getByRole('button', { name: 'Stop' }).and(page.locator(':enabled')).waitFor()
    await page.waitForFunction(() => document.querySelectorAll('main ol > li').length === 3)
    const early = page.getByText('You can send this when the reply ends.')
    await messageBox(page).fill('Too early')
    await keyboard.press('Enter')
    await early.waitFor()
    await keyboard.press('Escape')
    await announced(page, 'The reply was cut off')
    await early.waitFor({ state: 'detached' })
    expect(await messageBox(page).inputValue()).toBe('Too early')
  },
  { config: chatConfig },
)

testConsole('the list and a conversation are separate screens on a phone', async (opened) => {
  const { page } = opened
  await page.setViewportSize({ width: 360, height: 740 })
  const sessionId = await createChat(page, 'assistant')
  await opened.open('/chat?status=active')
  await page.getByRole('link', { name: 'No messages yet' }).click()
  await page.waitForURL(`**/chat/${sessionId}?status=active`)
  await messageBox(page).fill('region,amount\nwest,3\neast,4\nwest,5\n\nWhat is the total amount by region?')
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await announced(page, /The reply is complete and cost \$.*west.*8/s)
  await page.getByRole('button', { name: /^Tool/ }).first().click()
  await page.getByRole('group', { name: /^output of/ }).waitFor()
  await opened.check('chat-assistant')

  await page.setViewportSize({ width: 360, height: 740 })
  expect(await page.getByRole('navigation', { name: 'Chats' }).isVisible()).toBe(false)
  const { height } = (await page.getByRole('region', { name: 'Messages' }).boundingBox())!
  expect(height).toBeGreaterThan(300)
  // The resize takes effect a few frames later.
  await expect.poll(() => page.evaluate(() => document.documentElement.scrollHeight - innerHeight)).toBe(0)

  await page.setViewportSize({ width: 320, height: 740 })
  await messageBox(page).fill('A long message. '.repeat(2000))
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  const button = page.getByRole('button', { name: /^Show more of the/ })
  const pastBubble = (element: Element) =>
    element.getBoundingClientRect().right - element.parentElement!.parentElement!.getBoundingClientRect().right
  await expect.poll(() => button.evaluate(pastBubble)).toBeLessThan(0)
  await page.getByRole('link', { name: 'All chats' }).click()
  await page.waitForURL('**/chat?status=active')
  await page.getByRole('link', { name: 'region,amount' }).waitFor()
  expect((await callApi(page, 'GET', '/api/sessions')).total).toBe(1)
})

testConsole(
  'a message entered before the transcript has loaded is sent once the transcript has loaded',
  async (opened) => {
    const { page } = opened
    const sessionId = await createChat(page, 'writer')
    let load = () => {}
    const isAllowed = new Promise<void>((resolve) => (load = resolve))
    await page.route(/sessions\.messages/, async (route) => {
      await isAllowed
      await route.continue()
    })
    await page.goto(`/chat/${sessionId}`)
    await messageBox(page).fill('Early')
    await messageBox(page).press('Enter')
    expect(await messageBox(page).inputValue()).toBe('Early')
    load()
    await announced(page, 'The reply is complete')
    await page.getByText('You said: Early').first().waitFor()
    expect(await messageBox(page).inputValue()).toBe('')
  },
  { config: chatConfig },
)
