import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import type { ErrandConfig } from '../../server/agents/config/define-config.ts'
import chatAgents, { say, talk, type Step } from '../support/chat-agents.ts'
import type { OpenConsole } from './open-console.ts'

/** Steps of the agent `writer`, by message. */
const scripts = new Map<string, readonly Step[]>()

const rates = { inputPer1kUsd: '0.15', outputPer1kUsd: '0.6', reasoningPer1kUsd: '0.9', toolCallUsd: '0.0013' }

/** Configuration with chat agents. One of them can write long replies at an affordable price. */
export const chatConfig: ErrandConfig = {
  agents: [
    {
      kind: 'code',
      id: 'writer',
      name: 'Writer',
      description: 'Writes whatever it is told to, with tools and reasoning.',
      chat: {
        ...talk.chat!,
        pricing: rates,
        maxOutputTokens: 4000,
        reply: (run) =>
          talk.chat!.reply({ ...run, message: say(...(scripts.get(run.message) ?? [echo(run.message)])) }),
      },
    },
    ...chatAgents.agents.filter(({ id }) => id !== 'secret'),
  ],
}

const echo = (message: string): Step => ({ do: 'text', delta: `You said: ${message}` })

/** Calls the API as the logged-in user, bypassing the pages. */
export async function callApi(page: Page, method: string, path: string, body?: unknown): Promise<any> {
  return await page.evaluate(
    async ([method, path, body]) => {
      const response = await fetch(path, {
        method,
        ...(body !== null && { headers: { 'Content-Type': 'application/json' }, body }),
      })
      const text = await response.text()
      const isJson = response.headers.get('content-type')?.startsWith('application/json')
      return isJson ? JSON.parse(text) : text
    },
    [method, path, body === undefined ? null : JSON.stringify(body)] as const,
  )
}

export async function createChat(page: Page, agentId: string, messages: readonly string[] = []): Promise<string> {
  const { sessionId } = await callApi(page, 'POST', '/api/sessions', { agentId })
  expect(sessionId, 'the new session').toMatch(/^ses_/)
  for (const message of messages) {
    const lines = await callApi(page, 'POST', '/api/chat', { sessionId, message })
    expect(lines, 'the end of the reply').toContain('"type":"done"')
  }
  return sessionId
}

export function messageBox(page: Page) {
  return page.getByRole('textbox', { name: /^Message / })
}

export function scriptReply(message: string, ...steps: Step[]): void {
  scripts.set(message, steps)
}

/** Sends a message. The agent replies with these steps. */
export async function send(page: Page, message: string, ...steps: Step[]): Promise<void> {
  if (steps.length > 0) scriptReply(message, ...steps)
  await messageBox(page).fill(message)
  await page.getByRole('button', { name: 'Send', exact: true }).click()
}

/** Waits for the page to announce the end of a reply with this text. */
export async function announced(page: Page, text: RegExp | string): Promise<void> {
  await page.getByRole('status').filter({ hasText: text }).waitFor({ state: 'attached' })
}

export async function secondTab({ page }: OpenConsole, path: string): Promise<Page> {
  const tab = await page.context().newPage()
  await tab.goto(path)
  return tab
}
