import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { announced, callApi, chatConfig, createChat, messageBox, scriptReply, send } from '../chat-console.ts'
import { testConsole, type OpenConsole } from '../open-console.ts'

/** Returns the Idempotency-Key of each message that the page sends. */
function keysOf(page: Page): (string | undefined)[] {
  const keys: (string | undefined)[] = []
  page.on('request', (request) => {
    if (request.url().endsWith('/api/chat')) keys.push(request.headers()['idempotency-key'])
  })
  return keys
}

async function openChat(opened: OpenConsole) {
  const { page } = opened
  opened.allow(/ERR_|Failed to fetch/)
  const sessionId = await createChat(page, 'writer')
  await opened.open(`/chat/${sessionId}`)
  await page.getByText('Write the first message').waitFor()
  const messages = async () => (await callApi(page, 'GET', `/api/sessions/${sessionId}/messages`)).messages
  return { page, messages, keys: keysOf(page) }
}

testConsole(
  'a reply that loses the service resumes once the service is back',
  async (opened) => {
    const { messages, page } = await openChat(opened)
    const sockets: Socket[] = []
    const onRequest = (message: unknown) => {
      const { request, socket } = message as { request: IncomingMessage; socket: Socket }
      if (request.url === '/api/chat') sockets.push(socket)
    }
    subscribe('http.server.request.start', onRequest)
    await send(page, 'Talk on', { do: 'text', delta: 'So far' }, { do: 'await-abort' })
    await page.getByText('So far', { exact: true }).waitFor()
    unsubscribe('http.server.request.start', onRequest)
    for (const path of ['**/trpc/**', '**/api/chat/**']) await page.route(path, (route) => route.abort())
    sockets[0]!.destroy()
    await page.waitForRequest('**/api/chat/*/events?after=1')
    // The page does not offer to send the message again.
    expect(await messageBox(page).inputValue()).toBe('')
    expect(await page.getByRole('button', { name: 'Send', exact: true }).count()).toBe(0)
    await page.getByText('So far', { exact: true }).waitFor()
    for (const path of ['**/trpc/**', '**/api/chat/**']) await page.unroute(path)
    await page.getByRole('button', { name: 'Stop' }).click()
    await page.getByText(/The partial reply was saved\. You were charged \$\d/).waitFor()
    expect(await messages()).toMatchObject([{ content: 'Talk on' }, { content: 'So far', truncated: true }])
  },
  { config: chatConfig },
)

testConsole(
  'a message lost in an outage is reported as not stored, and resent with its key',
  async (opened) => {
    const { keys, messages, page } = await openChat(opened)
    for (const path of ['**/trpc/**', '**/api/chat']) await page.route(path, (route) => route.abort())
    await send(page, 'Hello there')
    await page.getByText('Could not reach the service').waitFor()
    await page.reload().catch(() => {})
    for (const path of ['**/trpc/**', '**/api/chat']) await page.unroute(path)
    await page
      .getByText('Nothing was saved, and you were not charged. Your message is back in the message box.')
      .waitFor()
    expect(await messageBox(page).inputValue()).toBe('Hello there')
    await opened.check('chat-not-stored')
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await announced(page, 'The reply is complete')
    expect(keys.length).toBe(2)
    expect(keys[0]).toMatch(/^run_/)
    expect(keys[1], 'the key of the message, after the page was loaded anew').toBe(keys[0])
    await send(page, 'Another')
    await page.getByText('You said: Another', { exact: true }).waitFor()
    expect(keys[2]).not.toBe(keys[0])
    expect((await messages()).length).toBe(4)
  },
  { config: chatConfig },
)

testConsole(
  'a message whose failed reply never arrived is resent as a new one',
  async (opened) => {
    opened.allow(/status of 409/)
    const { keys, messages, page } = await openChat(opened)
    // The reply fails, but the page never receives the failure.
    await page.route('**/api/chat', async (route) => {
      await route.fetch({ headers: { ...(await route.request().allHeaders()), origin: opened.service.url } })
      await route.abort()
    })
    await send(page, 'Try it', { do: 'throw', message: 'The model went away.' })
    await page
      .getByText('Nothing was saved, and you were not charged. Your message is back in the message box.')
      .waitFor()
    await page.unroute('**/api/chat')
    scriptReply('Try it', { do: 'text', delta: 'Now it works' })
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await announced(page, 'The reply is complete')
    await page.getByText('Now it works', { exact: true }).waitFor()
    expect(keys[1]).toBe(keys[0])
    expect(keys[2]).not.toBe(keys[0])
    expect((await messages()).length).toBe(2)
  },
  { config: chatConfig },
)
