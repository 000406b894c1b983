import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { build, type Rollup } from 'vite'
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { usage } from '../../client/chat-answers.ts'
import { openBrowser } from '../open-browser.ts'
import type { Driver } from '../react-parts-page.tsx'

// The React parts in a browser, with a client whose answers the test chooses.

let code: string
let page: Page
let problems: string[]

beforeAll(async () => {
  const entry = fileURLToPath(new URL('../react-parts-page.tsx', import.meta.url))
  const built = await build({
    configFile: false,
    envFile: false,
    logLevel: 'silent',
    define: { 'process.env.NODE_ENV': '"development"' },
    build: { write: false, lib: { entry, formats: ['iife'], name: 'Parts' } },
  })
  const [{ output }] = built as [Rollup.RollupOutput]
  code = output[0].code
})

beforeEach(async () => {
  page = await (await openBrowser()).newPage()
  problems = []
  page.on('pageerror', ({ message }) => problems.push(message))
  page.on('console', (message) => void (message.type() === 'error' && problems.push(message.text())))
  await page.setContent('<!doctype html><title>Parts</title>')
  await page.addScriptTag({ content: code })
})

afterEach(async () => {
  await page.close()
  expect(problems).toEqual([])
})

async function drive<Name extends keyof Driver>(
  name: Name,
  ...input: Parameters<Driver[Name]>
): Promise<ReturnType<Driver[Name]>> {
  const work = ({ name, input }: { name: string; input: unknown[] }) => (globalThis as any).driver[name](...input)
  return await page.evaluate(work, { name, input })
}

const calls = (name: string) => drive('calls', name)
const expectCalls = (name: string, count: number) =>
  expect.poll(async () => (await calls(name)).length, { message: name }).toBe(count)

async function answerAccount(count: number, balanceUsd: string, heldUsd = '0.0000'): Promise<void> {
  await expectCalls('account.get', count)
  await drive('resolve', 'account.get', { balanceUsd, heldUsd })
}

const shown = (locator: string) => expect.poll(() => page.locator(locator).allTextContents())
const balance = '.errand-balance.mine'

test('shows the balance without what is held, keeps it after an error, and reloads it after a credit', async () => {
  await drive('mount', 'money', { amounts: ['5.00', '7.5'], label: 'More', locale: 'en-US', hasOwnPage: true })
  await shown(balance).toEqual(['…'])
  await answerAccount(1, '12345678901.0000', '0.0001')
  await shown(balance).toEqual(['$12,345,678,900.9999'])
  const group = page.getByRole('group', { name: 'More' })
  expect(await group.getByRole('button').allTextContents()).toEqual(['$5.00', '$7.50'])

  await group.getByText('$7.50').click()
  expect(await calls('onAdd')).toEqual(['7.5'])
  expect(await group.locator('button:disabled').count()).toBe(2)
  await drive('reject', 'onAdd', 'The card was declined.')
  await shown('.errand-add-credit [role=alert]').toEqual(['The card was declined.'])
  await group.getByText('$5.00').click()
  await drive('resolve', 'onAdd', undefined)
  await answerAccount(2, '0.0000', '0.5000')
  await shown(balance).toEqual(['-$0.50'])
  expect(await group.getByRole('alert').count()).toBe(0)

  await group.getByText('$5.00').click()
  await drive('resolve', 'onAdd', undefined)
  await expectCalls('account.get', 3)
  await drive('reject', 'account.get', 'Could not reach the service.')
  await page.locator(`${balance}[title="Could not reach the service."]`).waitFor()
  await shown(balance).toEqual(['-$0.50'])
})

test('starts a top-up that returns to this page, and opens its payment page', async () => {
  await drive('mount', 'money')
  await expectCalls('account.get', 1)
  await drive('reject', 'account.get', 'Could not reach the service.')
  await shown(balance).toEqual(['–'])
  await page.getByText('25.00').click()
  expect(await calls('topups.create')).toEqual([{ amountUsd: '25.00', returnUrl: page.url() }])
  await drive('resolve', 'topups.create', { checkoutUrl: 'about:blank#paying' })
  await page.waitForURL('about:blank#paying')
})

test('a receipt lists only counts that are not zero', async () => {
  await drive('mount', 'receipt', { costUsd: '0.0123' })
  await shown('span.errand-receipt').toEqual(['$0.0123'])
  await drive('mount', 'receipt', { costUsd: '1.5', usage: { ...usage, promptTokens: 1234, cachedPromptTokens: 9 } })
  await shown('.errand-receipt summary').toEqual(['$1.50'])
  const rows = () => page.locator('.errand-receipt dl > div').allInnerTexts()
  await page.locator('.errand-receipt summary').click()
  expect((await rows()).map((row) => row.split('\n'))).toEqual([
    ['Input tokens', '1,234'],
    ['of which cached', '9'],
    ['Output tokens', '5'],
  ])
  const more = { ...usage, reasoningTokens: 3, toolCalls: 2 }
  await drive('mount', 'receipt', { costUsd: '1.5', usage: more })
  await expect.poll(async () => (await rows()).length).toBe(4)
  expect((await rows()).slice(2).map((row) => row.split('\n'))).toEqual([
    ['of which reasoning', '3'],
    ['Tool calls', '2'],
  ])
})

test('follows the latest task to its end, and reloads the balance when it starts and ends', async () => {
  await drive('mount', 'task')
  await answerAccount(1, '1.0000')
  const state = async () => JSON.parse((await page.locator('.task').textContent())!)
  const run = async (taskId: string) => {
    await page.getByRole('button', { name: 'Run' }).click()
    await drive('resolve', 'tasks.create', { taskId })
    await expect.poll(state).toEqual({ taskId, isRunning: true })
  }
  await run('task_1')
  await answerAccount(2, '0.9900')
  await shown(balance).toEqual(['$0.99'])
  await run('task_2')
  await drive('emit', 'events task_2', { type: 'status', progress: { percent: 50 } })
  await expect.poll(state).toMatchObject({ progress: { percent: 50 } })
  await page.getByText('Cancel').click()
  expect(await calls('tasks.cancel')).toEqual([{ taskId: 'task_2' }])
  await drive('reject', 'tasks.cancel', 'Too late.')
  await expect.poll(state).toMatchObject({ error: 'Too late.' })
  // The first task has ended too.
  await drive('emit', 'events task_1', { type: 'end', task: { id: 'task_1' } })
  await drive('end', 'events task_1')
  await expectCalls('account.get', 4)
  expect(await state()).toEqual({ taskId: 'task_2', isRunning: true, progress: { percent: 50 }, error: 'Too late.' })
  await drive('emit', 'events task_2', { type: 'end', task: { id: 'task_2' } })
  await drive('end', 'events task_2')
  await expect.poll(state).toMatchObject({ taskId: 'task_2', isRunning: false, task: { id: 'task_2' } })
  await answerAccount(5, '0.9800')
  await shown(balance).toEqual(['$0.98'])

  await page.getByRole('button', { name: 'Run' }).click()
  await drive('reject', 'tasks.create', 'Insufficient balance.')
  await expect.poll(state).toEqual({ isRunning: false, error: 'Insufficient balance.' })
})

/** Opens a chat without messages or a reply in progress. */
async function openChat(): Promise<void> {
  await drive('mount', 'chat', { sessionId: 'ses_1' })
  await expectCalls('messages', 1)
  await drive('end', 'messages')
  await expectCalls('resume', 1)
  await drive('end', 'resume')
  await answerCount(0)
  await expectCalls('account.get', 2)
}

/** Answers how many messages the session has, after its messages were loaded. */
async function answerCount(messageCount: number): Promise<void> {
  await expectCalls('sessions.get', 1)
  await drive('resolve', 'sessions.get', { messageCount })
}

async function load(count: number, ...contents: string[]): Promise<void> {
  await expectCalls('messages', count)
  for (const [place, content] of contents.entries()) {
    await drive('emit', 'messages', { id: `msg_${place}`, role: place % 2 ? 'assistant' : 'user', content })
  }
  await drive('end', 'messages')
}

test('sends a message with Enter, and shows the reply, its tools and its receipt', async () => {
  await openChat()
  const box = page.getByLabel('Message', { exact: true })
  await box.press('Enter')
  await box.fill('a')
  await box.press('Shift+Enter')
  await box.pressSequentially('b')
  expect(await calls('stream')).toEqual([])
  await box.press('Enter')
  expect(await calls('stream')).toEqual([{ sessionId: 'ses_1', message: 'a\nb', onDisconnect: 'continue' }])
  expect(await box.inputValue()).toBe('')
  await box.fill('next')
  await box.press('Enter')
  await drive('emit', 'stream', { type: 'tool_call', toolCall: { id: 'call_1', name: 'search' } })
  for (const delta of ['Hel', 'lo']) await drive('emit', 'stream', { type: 'assistant_delta', delta })
  await shown('.errand-text').toEqual(['a\nb', 'Hello'])
  await shown('.errand-tool').toEqual(['Used search'])
  await page.getByText('Stop').click()
  expect(await calls('stop')).toEqual([{ turnId: 'turn_1' }])
  await drive('emit', 'stream', { type: 'done', usage, costUsd: '0.0123' })
  await drive('end', 'stream')
  await page.getByText('Send').waitFor()
  await shown('.errand-receipt summary').toEqual(['$0.0123'])
  await expectCalls('account.get', 3)
  expect(await calls('stream')).toHaveLength(1)
  expect(await box.inputValue()).toBe('next')

  await page.getByText('Send').click()
  await drive('emit', 'stream', { type: 'assistant_delta', delta: 'Half' })
  await drive('emit', 'stream', { type: 'error', costUsd: '0.0007', error: { message: 'The agent failed.' } })
  await drive('end', 'stream')
  await shown('.errand-text').toEqual(['a\nb', 'Hello', 'next', 'Half'])
  await shown('.errand-message [role=alert]').toEqual(['The agent failed.'])
  await shown('.errand-receipt').toEqual([expect.stringContaining('$0.0123'), '$0.0007'])
})

test('removes a rejected message and restores its draft, unless the user has typed something else', async () => {
  await openChat()
  const box = page.getByLabel('Message', { exact: true })
  await box.fill('first')
  await box.press('Enter')
  await shown('.errand-text').toEqual(['first', ''])
  await drive('fail', 'stream', 'Insufficient balance.')
  await shown('.errand-chat > [role=alert]').toEqual(['Insufficient balance.'])
  await shown('.errand-text').toEqual([])
  await expect.poll(() => box.inputValue()).toBe('first')
  await box.press('Enter')
  await expect.poll(() => box.inputValue()).toBe('')
  await shown('.errand-chat > [role=alert]').toEqual([])
  await box.fill('second')
  await drive('fail', 'stream', 'Insufficient balance.')
  await page.getByText('Send').waitFor()
  expect(await box.inputValue()).toBe('second')
})

test('sends a message that was entered before the stored messages were loaded', async () => {
  await drive('mount', 'chat', { sessionId: 'ses_1' })
  await expectCalls('messages', 1)
  await page.getByLabel('Message', { exact: true }).fill('new')
  await page.getByText('Send').click()
  await load(1, 'old')
  await expectCalls('resume', 1)
  await drive('end', 'resume')
  await answerCount(1)
  await shown('.errand-text').toEqual(['old', 'new', ''])
  await drive('emit', 'stream', { type: 'assistant_delta', delta: 'reply' })
  await shown('.errand-text').toEqual(['old', 'new', 'reply'])
})

test('shows a reply that ended while the messages were loaded', async () => {
  await drive('mount', 'chat', { sessionId: 'ses_1' })
  await load(1)
  await expectCalls('resume', 1)
  await drive('end', 'resume')
  await answerCount(2)
  await load(2, 'hi', 'hello')
  await shown('.errand-text').toEqual(['hi', 'hello'])
})

test('continues to show a reply in progress, with its stored message and receipt, and leaves one of another session', async () => {
  await drive('mount', 'chat', { sessionId: 'ses_1' })
  await load(1, 'hi', 'hello')
  await expectCalls('resume', 1)
  await drive('emit', 'resume', { type: 'assistant_delta', delta: 'Still' })
  await shown('.errand-text').toEqual(['hi', 'hello', 'Still'])
  await page.getByText('Stop').waitFor()
  await drive('emit', 'resume', { type: 'done', usage, costUsd: '0.0123' })
  await page.getByLabel('Message', { exact: true }).fill('more')
  await drive('end', 'resume')
  await expectCalls('messages', 2)
  await page.getByText('Send').click()
  await load(2, 'hi', 'hello', 'go on', 'Still here')
  await shown('.errand-text').toEqual(['hi', 'hello', 'go on', 'Still here', 'more', ''])
  await shown('.errand-receipt summary').toEqual(['$0.0123'])

  await drive('mount', 'chat', { sessionId: 'ses_2' })
  await load(3, 'other')
  await shown('.errand-text').toEqual(['other'])
  await expectCalls('resume', 2)
  await drive('emit', 'resume', { type: 'assistant_delta', delta: 'of ses_2' })
  await drive('emit', 'stream', { type: 'assistant_delta', delta: 'of ses_1' })
  await expectCalls('account.get', 3)
  await shown('.errand-text').toEqual(['other', 'of ses_2'])
  await page.getByText('Stop').click()
  expect(await calls('stop')).toHaveLength(1)
})
