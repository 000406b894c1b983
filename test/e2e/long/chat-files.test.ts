import { expect } from 'vitest'
import type { ErrandConfig } from '../../../server/agents/config/define-config.ts'
import { filePartOf, png } from '../../support/sample-files.ts'
import { announced, callApi, createChat, messageBox, send } from '../chat-console.ts'
import { testConsole } from '../open-console.ts'

const pricing = { inputPer1kUsd: '0.001', outputPer1kUsd: '0.001' }

const config: ErrandConfig = {
  agents: [
    {
      kind: 'code',
      id: 'viewer',
      name: 'Viewer',
      chat: {
        accepts: ['image/*', 'text/*'],
        pricing,
        async *reply({ history, message, parts = [] }) {
          const files = parts.filter((part) => part.type === 'file')
          const earlier = history.flatMap((one) => one.parts ?? []).filter((part) => part.type === 'file')
          const names = [...files, ...earlier].map(({ bytes, filename }) => `${filename} (${bytes})`)
          yield { type: 'text', delta: `${message || 'Nothing said'}. Seen: ${names.join(', ')}.` }
        },
      },
    },
    {
      kind: 'code',
      id: 'plain',
      name: 'Plain',
      chat: {
        pricing,
        async *reply({ message }) {
          yield { type: 'text', delta: message }
        },
      },
    },
  ],
}

const picture = png(120, 80)
const upload = (name: string, mimeType: string, buffer: Buffer) => ({ name, mimeType, buffer })

testConsole(
  'files can be attached by button, paste and drop, and the agent gets them again in later turns',
  async (opened) => {
    const page = await opened.open('/chat')
    const sessionId = await createChat(page, 'viewer')
    await page.goto(`/chat/${sessionId}`)
    const input = page.getByLabel('Files to attach')
    await input.setInputFiles([
      upload('field.png', 'image/png', picture),
      upload('notes.txt', 'text/plain', Buffer.from('Grey.')),
      upload('tool.zip', 'application/zip', Buffer.from('PK')),
    ])
    await page
      .getByRole('alert')
      .filter({ hasText: 'tool.zip cannot be attached. This agent accepts images and text files.' })
      .waitFor()
    await page.getByRole('button', { name: 'Remove notes.txt' }).waitFor()
    const thumbnail = page.getByRole('img', { name: 'field.png' })
    expect(await thumbnail.evaluate((image: HTMLImageElement) => image.decode().then(() => image.naturalWidth))).toBe(
      120,
    )
    await opened.check('chat-attached')
    await page.getByRole('button', { name: 'Remove notes.txt' }).click()
    expect(await page.getByText('notes.txt').count()).toBe(0)

    // Pasting and dropping fire events with files.
    for (const [kind, name] of [
      ['paste', 'pasted.png'],
      ['drop', 'dropped.png'],
    ] as const) {
      await messageBox(page).evaluate(
        (box, [kind, name, base64]) => {
          const bytes = Uint8Array.from(atob(base64), (one) => one.charCodeAt(0))
          const data = new DataTransfer()
          data.items.add(new File([bytes], name, { type: 'image/png' }))
          const options = { bubbles: true, cancelable: true }
          box.dispatchEvent(
            kind === 'paste'
              ? new ClipboardEvent('paste', { ...options, clipboardData: data })
              : new DragEvent('drop', { ...options, dataTransfer: data }),
          )
        },
        [kind, name, picture.toString('base64')] as const,
      )
      await page.getByRole('button', { name: `Remove ${name}` }).waitFor()
    }
    await page.getByRole('button', { name: 'Remove dropped.png' }).click()
    await send(page, 'What is it?')
    await announced(page, 'The reply is complete')
    const seen = [`field.png (${picture.length})`, `pasted.png (${picture.length})`].join(', ')
    await page.getByRole('paragraph').getByText(`What is it?. Seen: ${seen}.`).waitFor()

    await page.reload()
    const stored = page.getByRole('img', { name: 'pasted.png' })
    expect(await stored.evaluate((image: HTMLImageElement) => image.decode().then(() => image.naturalWidth))).toBe(120)
    expect(await page.getByRole('link', { name: 'field.png' }).getAttribute('href')).toMatch(/^\/api\/payloads\/pay_/)
    await opened.check('chat-files')
    await send(page, 'And now?')
    await page.getByRole('paragraph').getByText(`And now?. Seen: ${seen}.`).waitFor()
  },
  { config },
)

testConsole(
  'the cost of a message with large files is shown before it is sent, also for the first message of a chat',
  async (opened) => {
    const page = await opened.open('/chat?new=yes&agentId=viewer')
    await messageBox(page).fill('Short')
    const hint = page.locator('#composer-hint')
    const held = hint.filter({ hasText: /Up to \$\d+\.\d+ is held\. You pay only for what you use\.$/ })
    await held.waitFor()
    const short = await held.textContent()
    const large = Buffer.concat([png(1200, 900), Buffer.alloc(3_500_000)])
    const files = [upload('one.png', 'image/png', large), upload('two.png', 'image/png', large)]
    await page.getByLabel('Files to attach').setInputFiles(files)
    await page.getByRole('button', { name: 'Remove two.png' }).waitFor()
    await held.waitFor()
    await expect.poll(() => held.textContent()).not.toBe(short)
    await opened.check('chat-new-cost')
    await page.getByRole('button', { name: 'Remove two.png' }).click()
    await page.getByRole('button', { name: 'Remove one.png' }).click()
    await expect.poll(() => held.textContent()).toBe(short)

    await page.goto(`/chat/${await createChat(page, 'viewer')}`)
    await messageBox(page).fill('Short')
    await held.waitFor()
    await page.getByLabel('Files to attach').setInputFiles(files)
    await page.getByRole('button', { name: 'Remove two.png' }).waitFor()
    await held.waitFor()
    await expect.poll(() => held.textContent()).not.toBe(short)
  },
  { config },
)

testConsole(
  'a file whose content does not match its type is rejected and restored; no button without file support',
  async (opened) => {
    const page = await opened.open('/chat')
    const sessionId = await createChat(page, 'viewer')
    await page.goto(`/chat/${sessionId}`)
    await page.getByLabel('Files to attach').setInputFiles([upload('fake.png', 'image/png', Buffer.from('no image'))])
    opened.allow(/400/)
    await send(page, 'Look.')
    await page.getByRole('alert').filter({ hasText: 'Must be an image' }).first().waitFor()
    await page.getByRole('button', { name: 'Remove fake.png' }).click()
    expect(await messageBox(page).inputValue()).toBe('Look.')
    await page.getByLabel('Files to attach').setInputFiles([upload('real.png', 'image/png', picture)])
    await messageBox(page).fill('')
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await page.getByRole('paragraph').getByText(`Nothing said. Seen: real.png (${picture.length}).`).waitFor()

    const { messages } = await callApi(page, 'GET', `/api/sessions/${sessionId}/messages`)
    expect(messages[0].content).toBe('')
    expect(messages[0].parts).toMatchObject([{ type: 'file', filename: 'real.png', bytes: picture.length }])
    const plain = await createChat(page, 'plain')
    const refused = await callApi(page, 'POST', '/api/chat', { sessionId: plain, message: [filePartOf(picture)] })
    expect(refused.details[0].path).toBe('message[0].mediaType')
    await page.goto(`/chat/${plain}`)
    await messageBox(page).waitFor()
    expect(await page.getByRole('button', { name: 'Attach files' }).count()).toBe(0)
  },
  { config },
)
