import { defineConfig, defineEndpoint } from 'errand'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { z } from 'zod'
import { settle } from '../check-page.ts'
import { testConsole, type OpenConsole } from '../open-console.ts'

const everything = z.object({
  title: z.string().min(3).max(40).describe('What it is called.'),
  body: z.string().describe('The text itself.'),
  email: z.email(),
  link: z.url().optional(),
  day: z.iso.date().optional(),
  code: z
    .string()
    .regex(/^[A-Z]{3}-\d+$/, 'The code is three capitals, a dash and digits.')
    .optional(),
  note: z.string().max(100).nullable(),
  count: z.int().min(1).max(9).default(4),
  ratio: z.number().gt(0).lt(1).optional(),
  isUrgent: z.boolean().default(true),
  isPublic: z.boolean().optional(),
  size: z.enum(['small', 'medium', 'large']),
  colours: z.array(z.enum(['red', 'green', 'blue'])).optional(),
  tags: z.array(z.string()).max(3),
  scores: z.array(z.number()).optional(),
  contacts: z.array(z.object({ name: z.string(), isMain: z.boolean().default(false) })).min(1),
  address: z.object({ street: z.string(), city: z.string().default('Utrecht') }).optional(),
  target: z.discriminatedUnion('type', [
    z.object({ type: z.literal('mail'), to: z.string().refine((to) => to !== 'nobody', 'Nobody takes no mail.') }),
    z.object({ type: z.literal('file'), path: z.string(), isNew: z.boolean() }),
  ]),
  limit: z.union([z.int(), z.literal('none')]).optional(),
  labels: z.record(z.string(), z.number()).optional(),
  pair: z.tuple([z.string(), z.number()]).optional(),
})

const config = defineConfig({
  agents: [
    {
      kind: 'code',
      id: 'form',
      name: 'Forms',
      description: 'Answers what it was given.',
      endpoints: {
        everything: defineEndpoint({
          description: 'Has params of every kind.',
          priceUsd: '0.0100',
          params: everything,
          run: ({ params }) => ({ got: params }),
        }),
        secret: defineEndpoint({
          description: 'Takes a secret.',
          priceUsd: '0',
          params: z.object({ name: z.string(), secret: z.string().meta({ format: 'password' }), count: z.int() }),
          run: () => 'fine',
        }),
        picky: defineEndpoint({
          description: 'Is checked by the service only.',
          priceUsd: '0',
          params: z.object({
            names: z.array(z.object({ name: z.string().refine((name) => name !== 'x', 'Not this name') })),
            word: z.string().refine((word) => word !== 'no', 'Not this word'),
          }),
          run: () => 'fine',
        }),
      },
    },
  ],
})

const field = (page: Page, name: string) => page.getByRole('textbox', { name, exact: true })
const runButton = (page: Page) => page.getByRole('button', { name: /^Run / })

testConsole(
  'params of every kind can be filled in by mouse and reach the agent correctly',
  async (opened) => {
    const page = await opened.open('/agents/form?endpoint=form.everything')
    await field(page, 'Title').fill('No')
    await field(page, 'Email').fill('nobody')
    await field(page, 'Code').fill('abc')
    await page.getByLabel('Ratio').fill('1')
    await runButton(page).click()
    await page.getByText('Must have at least 3 characters').waitFor()
    await page.getByText('Must be an email address').waitFor()
    await page.getByText(/^Must match the pattern/).waitFor()
    await page.getByText('Must be less than 1').waitFor()
    expect(await field(page, 'Title').evaluate((input) => input === document.activeElement)).toBe(true)
    await opened.check('form-mistakes')

    await field(page, 'Title').fill('Nova')
    await field(page, 'Body').fill('One\ntwo')
    await field(page, 'Email').fill('ada@example.com')
    await field(page, 'Link').fill('https://example.com/')
    await page.getByLabel('Day').fill('2026-11-21')
    await field(page, 'Code').fill('ABC-1')
    await page.getByLabel('Ratio').fill('0.5')
    await page.getByLabel('Is urgent').uncheck()
    await page.getByRole('radiogroup', { name: 'Is public' }).getByLabel('No', { exact: true }).check()
    await choose(page, 'Size', 'medium')
    await page.getByRole('textbox', { name: 'Colours' }).click()
    await page.getByRole('option', { name: 'red' }).click()
    await page.getByRole('option', { name: 'blue' }).click()
    await page.keyboard.press('Escape')
    await page.getByRole('textbox', { name: 'Tags' }).fill('a, b')
    await page.keyboard.press('Enter')
    await page.getByRole('textbox', { name: 'Scores' }).fill('1')
    await page.keyboard.press('Enter')
    await page.keyboard.type('2.5')
    await page.keyboard.press('Enter')
    const contacts = page.getByRole('group', { name: 'Contacts *', exact: true })
    await contacts.getByLabel('Name').fill('Ada')
    await contacts.getByRole('button', { name: 'Add to Contacts' }).click()
    await contacts.getByLabel('Name').nth(1).fill('Grace')
    await contacts.getByLabel('Is main').nth(1).check()
    await contacts.getByRole('button', { name: 'Add to Contacts' }).click()
    await contacts.getByRole('button', { name: 'Remove Contacts 3' }).click()
    await page.getByRole('button', { name: 'Add Address' }).click()
    await field(page, 'Street').fill('Long Street 1')
    expect(await field(page, 'City').inputValue()).toBe('Utrecht')
    await choose(page, 'Type of Target', 'File')
    await field(page, 'Path').fill('/tmp/a')
    await choose(page, 'Type of Limit', 'none')
    await field(page, 'Labels').fill('{ "a": 1 }')
    await field(page, 'Pair').fill('["a", 2]')
    await opened.check('form-filled')
    await runButton(page).click()
    await page.waitForURL('**/tasks/task_*')
    await page.getByRole('heading', { name: 'Result' }).waitFor()
    expect(await resultOf(opened)).toEqual({
      got: {
        title: 'Nova',
        body: 'One\ntwo',
        email: 'ada@example.com',
        link: 'https://example.com/',
        day: '2026-11-21',
        code: 'ABC-1',
        note: null,
        count: 4,
        ratio: 0.5,
        isUrgent: false,
        isPublic: false,
        size: 'medium',
        colours: ['red', 'blue'],
        tags: ['a, b'],
        scores: [1, 2.5],
        contacts: [
          { name: 'Ada', isMain: false },
          { name: 'Grace', isMain: true },
        ],
        address: { street: 'Long Street 1', city: 'Utrecht' },
        target: { type: 'file', path: '/tmp/a', isNew: false },
        limit: 'none',
        labels: { a: 1 },
        pair: ['a', 2],
      },
    })
  },
  { config },
)

testConsole(
  'form and JSON view share the same params, including fields that the form does not know',
  async (opened) => {
    const page = await opened.open('/agents/form?endpoint=form.everything')
    await field(page, 'Title').fill('Nova')
    await switchTo(page, 'JSON')
    const json = page.getByRole('textbox', { name: 'Params' })
    const written = JSON.parse(await json.inputValue()) as Record<string, unknown>
    expect(written).toMatchObject({ title: 'Nova', note: null, count: 4, contacts: [{ isMain: false }] })
    await json.fill('{ "title": ')
    await switchTo(page, 'Form')
    await page.getByText(/^Invalid JSON/).waitFor()
    await opened.check('form-json')
    await json.fill(JSON.stringify({ ...written, title: 5, size: 'large', extra: { kept: true } }))
    await switchTo(page, 'Form')
    // If a value does not fit its input, the input shows it unchanged.
    expect(await field(page, 'Title').inputValue()).toBe('5')
    expect(await field(page, 'Other fields').inputValue()).toContain('"kept": true')
    await field(page, 'Title').fill('"Nova"')
    await field(page, 'Body').focus()
    expect(await field(page, 'Title').inputValue()).toBe('Nova')
    await switchTo(page, 'JSON')
    expect(JSON.parse(await json.inputValue())).toMatchObject({ title: 'Nova', size: 'large', extra: { kept: true } })
  },
  { config },
)

testConsole(
  'errors found only by the service appear at their field, also with keyboard use',
  async (opened) => {
    opened.allow(/status of 400/)
    const page = await opened.open('/agents/form?endpoint=form.picky')
    await page.getByText('Free; balance after: $25.00').waitFor()
    const names = page.getByRole('group', { name: 'Names *', exact: true })
    await page.getByRole('button', { name: 'Add to Names' }).focus()
    await page.keyboard.press('Enter')
    // The focus has moved to the new row.
    await page.keyboard.type('y')
    await page.getByRole('button', { name: 'Add to Names' }).focus()
    await page.keyboard.press('Enter')
    await page.keyboard.type('x')
    await field(page, 'Word').focus()
    await page.keyboard.type('no')
    await page.keyboard.press('Control+Enter')
    await names.getByText('Not this name').waitFor()
    const wrong = names.getByRole('textbox').nth(1)
    expect(await wrong.getAttribute('aria-invalid')).toBe('true')
    expect(await names.getByRole('textbox').nth(0).getAttribute('aria-invalid')).not.toBe('true')
    expect(await field(page, 'Word').getAttribute('aria-invalid')).toBe('true')
    await page.waitForFunction(() => document.activeElement?.getAttribute('aria-invalid') === 'true')
    await opened.check('form-refused')
    await wrong.fill('z')
    await page.getByText('Not this word').waitFor()
    expect(await page.getByText('Not this name').count(), 'what was changed is no more called wrong').toBe(0)
    await field(page, 'Word').fill('yes')
    await page.keyboard.press('Control+Enter')
    await page.waitForURL('**/tasks/task_*')
    await page.getByText('fine').waitFor()
  },
  { config },
)

testConsole(
  'input is restored until it is run or cleared, except secrets',
  async (opened) => {
    const page = await opened.open('/agents/form?endpoint=form.secret')
    expect(await page.getByRole('button', { name: 'Clear' }).count()).toBe(0)
    await field(page, 'Name').fill('Nova')
    await field(page, 'Secret').fill('hidden words')
    await page.getByRole('link', { name: 'Agents' }).first().click()
    await page.waitForURL('**/agents')
    await page.goBack()
    await page.waitForFunction(() => document.querySelector('form input'))
    expect(await field(page, 'Name').inputValue()).toBe('Nova')
    expect(await field(page, 'Secret').inputValue()).toBe('')
    await page.reload()
    await settle(page)
    expect(await field(page, 'Name').inputValue()).toBe('Nova')
    expect(await page.evaluate(() => JSON.stringify(sessionStorage))).not.toContain('hidden words')
    await opened.check('form-restored')

    await page.getByRole('button', { name: 'Clear' }).focus()
    await page.keyboard.press('Enter')
    expect(await field(page, 'Name').inputValue()).toBe('')
    await page.getByRole('button', { name: 'Undo' }).waitFor()
    await page.keyboard.press('Enter')
    expect(await field(page, 'Name').inputValue()).toBe('Nova')
    await switchTo(page, 'JSON')
    await page.getByRole('textbox', { name: 'Params' }).fill('{ "name": "Vega", "secret": "hidden words", "count": 2 }')
    await page.reload()
    await settle(page)
    expect(await field(page, 'Name').inputValue()).toBe('Vega')
    expect(await page.evaluate(() => JSON.stringify(sessionStorage))).not.toContain('hidden words')
    await field(page, 'Secret').fill('hidden words')
    await runButton(page).click()
    await page.waitForURL('**/tasks/task_*')
    await page.goBack()
    await settle(page)
    expect(await field(page, 'Name').inputValue()).toBe('')
  },
  { config },
)

/** Switches the format by its label, because the input itself is hidden. */
async function switchTo(page: Page, mode: string): Promise<void> {
  await page.getByRole('radiogroup', { name: 'Params format' }).getByText(mode, { exact: true }).click()
}

async function choose(page: Page, label: string, option: string): Promise<void> {
  await page.getByRole('textbox', { name: label }).click()
  await page.getByRole('option', { name: option, exact: true }).click()
}

async function resultOf({ page, service, visitor }: OpenConsole): Promise<unknown> {
  const taskId = new URL(page.url()).pathname.split('/').at(-1)!
  const task = await service.app.store.getTask({ userId: visitor.userId, taskId })
  return JSON.parse(task?.response?.text ?? 'null')
}
