import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { afterAll, expect } from 'vitest'
import { announced, callApi, chatConfig, createChat, messageBox, secondTab, send } from '../chat-console.ts'
import { testConsole } from '../open-console.ts'

const folder = mkdtempSync(join(tmpdir(), 'errand-chat-errors-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

testConsole(
  'stores and charges a reply cut off by the balance, and rejects the next message',
  async (opened) => {
    const { page } = opened
    const sessionId = await createChat(page, 'writer')
    await opened.open(`/chat/${sessionId}`)
    await send(page, 'Write on', { do: 'flood', times: 5000, delta: 'and on it goes ' })
    await announced(page, 'The reply was cut off')
    await page.getByText('Balance ran out').waitFor()
    const { transactions } = await callApi(page, 'GET', `/api/transactions?sessionId=${sessionId}`)
    const costUsd = transactions[0].amountUsd.slice(1)
    await page.getByText(`You were charged $${costUsd}.`, { exact: false }).first().waitFor()
    await page.getByText('Cut off', { exact: true }).waitFor()

    opened.allow(/status of 403/)
    const long = 'much to read '.repeat(3000)
    await send(page, long)
    await page.getByText(/balance of \$\d+\.\d{4} .*is lower than the required/).waitFor()
    await page.getByRole('link', { name: 'Go to billing' }).last().waitFor()
    expect(await messageBox(page).inputValue()).toBe(long)
    await opened.check('chat-balance')
  },
  { config: chatConfig, balanceUsd: '0.4000' },
)

testConsole(
  'a rate-limited message stays in the box across reloads and shows when to resend',
  async (opened) => {
    const { page } = opened
    const sessionId = await createChat(page, 'writer')
    await opened.open(`/chat/${sessionId}`)
    await send(page, 'The first')
    await announced(page, 'The reply is complete')
    opened.allow(/status of 429/)
    await send(page, 'The second')
    await page
      .getByText(
        /At most 1 agent executions per minute are allowed\. Wait before you try again\. You can send messages again at \d\d:\d\d:\d\d/,
      )
      .waitFor()
    await page.getByText(/^In \d+ seconds?$/).waitFor()
    expect(await messageBox(page).inputValue()).toBe('The second')
    await opened.check('chat-rate')
    await page.reload()
    await page.getByText('You said: The first', { exact: true }).waitFor()
    expect(await messageBox(page).inputValue()).toBe('The second')
    expect((await callApi(page, 'GET', `/api/sessions/${sessionId}`)).messageCount).toBe(2)
  },
  { config: chatConfig, limits: { executionsPerMinute: 1 } },
)

testConsole(
  'a failed reply is free and its message returns to the input; another tab explains a busy session',
  async (opened) => {
    const { page } = opened
    const sessionId = await createChat(page, 'writer')
    await opened.open(`/chat/${sessionId}`)
    await send(page, 'Fail', { do: 'text', delta: 'Half a' }, { do: 'throw', message: 'The model went away' })
    await page.getByText('The agent failed').waitFor()
    await page.getByText(/The model went away\. Nothing was saved, and you were not charged/).waitFor()
    await page.getByText('Half a').waitFor()
    expect(await messageBox(page).inputValue()).toBe('Fail')
    expect((await callApi(page, 'GET', `/api/sessions/${sessionId}`)).messageCount).toBe(0)
    await opened.check('chat-failed')

    await send(page, 'Take your time', { do: 'text', delta: 'Slowly' }, { do: 'await-abort' })
    await page.getByText('Slowly', { exact: true }).waitFor()
    // A second tab shows the reply, too.
    const other = await secondTab(opened, `/chat/${sessionId}`)
    await other.getByText('Slowly', { exact: true }).waitFor()
    await other.getByRole('button', { name: 'Stop' }).waitFor()

    // The reply continues while another page of the console is open, and reappears afterwards.
    await page.getByRole('link', { name: 'Tasks' }).click()
    await page.getByRole('heading', { name: 'Tasks', level: 1 }).waitFor()
    await page.goBack()
    await page.getByText('Slowly', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Stop' }).waitFor()

    // It also continues across a reload.
    await page.reload()
    await page.getByText('Slowly', { exact: true }).waitFor()
    await page.getByText('Take your time').waitFor()
    await page.getByRole('button', { name: 'Stop' }).click()
    for (const tab of [page, other]) await tab.getByText('Cut off', { exact: true }).waitFor()
    expect(await messageBox(page).inputValue()).toBe('')
    await send(other, 'Me too')
    await announced(other, 'The reply is complete')
  },
  { config: chatConfig },
)

testConsole(
  'a reply whose connection breaks continues over a new connection, without loss',
  async (opened) => {
    const { page } = opened
    const sessionId = await createChat(page, 'writer')
    await opened.open(`/chat/${sessionId}`)
    opened.allow(/ERR_/)
    const sockets: Socket[] = []
    const onRequest = (message: unknown) => {
      const { request, socket } = message as { request: IncomingMessage; socket: Socket }
      if (request.url === '/api/chat') sockets.push(socket)
    }
    subscribe('http.server.request.start', onRequest)
    const go = join(folder, 'go')
    const steps = [
      { do: 'text', delta: 'So far' },
      { do: 'await-file', file: go },
      { do: 'text', delta: ' and on' },
    ] as const
    await send(page, 'Talk on', ...steps)
    await page.getByText('So far', { exact: true }).waitFor()
    unsubscribe('http.server.request.start', onRequest)
    expect(sockets.length).toBe(1)
    sockets[0]!.destroy()
    writeFileSync(go, '')
    await announced(page, 'The reply is complete')
    await page.getByText('So far and on', { exact: true }).waitFor()
    const { messages } = await callApi(page, 'GET', `/api/sessions/${sessionId}/messages`)
    expect(messages[1]).toMatchObject({ content: 'So far and on' })
  },
  { config: chatConfig },
)

testConsole(
  'an expired session is shown as expired, and its next message continues it in a new one',
  async (opened) => {
    const { page } = opened
    const sessionId = await createChat(page, 'writer', ['Hello'])
    await opened.open(`/chat/${sessionId}`)
    await expect
      .poll(async () => (await callApi(page, 'GET', `/api/sessions/${sessionId}`)).status, { timeout: 15_000 })
      .toBe('expired')
    opened.allow(/status of 410/)
    const expired = page.getByText('This chat expired because it was inactive')
    if ((await expired.count()) === 0) await send(page, 'Still there?')
    await expired.waitFor()
    await messageBox(page).fill('Still there?')
    await page.getByText(/Up to \$\d+\.\d+ is held/).waitFor()
    await send(page, 'Still there?', { do: 'tell', what: 'history' })
    await announced(page, /The reply is complete.*You said: Hello/s)
    expect(page.url()).not.toContain(sessionId)
  },
  { config: chatConfig, limits: { sessionIdleSeconds: 2 } },
)

testConsole(
  'an outage is reported once; a message to a session ended in another tab stays in the input',
  async (opened) => {
    const { page } = opened
    opened.allow(/ERR_FAILED|Failed to fetch|status of 4(?:09|10)/)
    const sessionId = await createChat(page, 'writer', ['Hello'])
    await page.route('**/trpc/**', (route) => route.abort())
    await page.goto(`/chat/${sessionId}`)
    await page.getByText('Could not reach the service. Retrying…').waitFor()
    expect(await page.getByRole('alert').count()).toBe(1)
    await page.unroute('**/trpc/**')
    await page.getByText('You said: Hello', { exact: true }).waitFor()
    await page.getByText('Could not reach the service').waitFor({ state: 'detached' })

    await callApi(page, 'PATCH', `/api/sessions/${sessionId}`, { status: 'completed' })
    await send(page, 'Too late')
    await page.getByText('This chat has ended. Your next message will start a new chat').waitFor()
    await expect.poll(() => messageBox(page).inputValue()).toBe('Too late')
    await opened.check('chat-not-sent')
  },
  { config: chatConfig },
)
