import { expect } from 'vitest'
import { testConsole, type OpenConsole } from '../open-console.ts'

const words = 'Grüße aus Köln. The second sentence is here. A third one ends it.'

function file(name: string, content: string | Buffer) {
  return { name, mimeType: 'application/octet-stream', buffer: Buffer.from(content) }
}

/** Opens the form of an endpoint with a long text, and records the requests that create tasks. */
async function openForm(opened: OpenConsole) {
  const page = await opened.open('/agents/text?endpoint=text.summarize')
  const sent: string[] = []
  page.on('request', (request) => {
    if (request.url().includes('tasks.create')) sent.push(request.url())
  })
  const box = page.getByRole('textbox', { name: 'Text' })
  const choose = (chosen: ReturnType<typeof file>) => page.getByLabel('File for Text').setInputFiles(chosen)
  const drop = async (files: readonly { name: string; text: string }[]) => {
    const dataTransfer = await page.evaluateHandle((given) => {
      const transfer = new DataTransfer()
      for (const { name, text } of given) transfer.items.add(new File([text], name))
      return transfer
    }, files)
    await box.dispatchEvent('dragover', { dataTransfer })
    await box.dispatchEvent('drop', { dataTransfer })
  }
  return { page, box, choose, drop, sent }
}

testConsole('rejects a binary or oversized file immediately, names it, and sends nothing', async (opened) => {
  const { box, choose, page, sent } = await openForm(opened)
  await box.fill('What was there before.')
  const binary = Buffer.from(Array.from({ length: 300_000 }, (_, index) => (index * 7919) % 256))
  for (const [name, content, said] of [
    ['photo.png', binary, 'photo.png is not UTF-8 text'],
    ['latin.csv', Buffer.from('Grüße', 'latin1'), 'latin.csv is not UTF-8 text'],
    ['wide.txt', Buffer.from('Hello', 'utf16le'), 'wide.txt is not UTF-8 text'],
    [
      'large.txt',
      'a word '.repeat(1_800_000),
      'large.txt is 12.0 MB, but the maximum per run is 10.0 MB. Choose a smaller file.',
    ],
    ['quotes.txt', '"'.repeat(6_000_000), 'quotes.txt is 5.7 MB (11.4 MB when sent), but the maximum per run'],
    ['blank.txt', ' \n', 'blank.txt is empty.'],
  ] as const) {
    await choose(file(name, content))
    await page.getByRole('alert').getByText(said).waitFor()
    expect(await box.inputValue(), name).toBe('What was there before.')
  }
  await opened.check('agent-file-refused')
  // Chooses the same file again, then edits the text.
  await choose(file('blank.txt', words))
  await page.getByText(`Filled from blank.txt, ${Buffer.byteLength(words)} bytes.`).waitFor()
  await box.fill('Another text.')
  await page.getByText('or drop one here').waitFor()
  expect(sent).toEqual([])
})

testConsole('accepts a file by button or by drop, and runs with it', async (opened) => {
  const { box, choose, drop, page } = await openForm(opened)
  await choose(file('greetings.md', `\uFEFF${words}`))
  await page.getByText(`Filled from greetings.md, ${Buffer.byteLength(words) + 3} bytes.`).waitFor()
  expect(await box.inputValue()).toBe(words)
  await drop([
    { name: 'a.txt', text: 'One.' },
    { name: 'b.txt', text: 'Two.' },
  ])
  await page.getByText('Several files were selected. Choose only one.').waitFor()
  expect(await box.inputValue()).toBe(words)
  await drop([{ name: 'dropped.txt', text: `Dropped. ${words}` }])
  await page.getByText('Filled from dropped.txt').waitFor()
  expect(await box.inputValue()).toBe(`Dropped. ${words}`)
  await opened.check('agent-file-filled')
  await page.getByRole('button', { name: /^Run for/ }).click()
  await page.waitForURL('**/tasks/task_*')
  await page.getByText('Completed', { exact: true }).first().waitFor()
})

testConsole(
  'rejects typed input that is too large before it is sent',
  async (opened) => {
    const { box, page, sent } = await openForm(opened)
    await box.fill('a word '.repeat(4000))
    await page.getByRole('button', { name: /^Run for/ }).click()
    await page.getByText('The input is 28.4 KB, but the maximum is 19.5 KB. Shorten it.').waitFor()
    await opened.check('agent-run-too-large')
    expect(sent).toEqual([])
  },
  { limits: { maxBodyBytes: 20_000 } },
)
