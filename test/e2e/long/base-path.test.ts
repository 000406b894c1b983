import { expect } from 'vitest'
import { freePort } from '../../support/free-port.ts'
import { testConsole } from '../open-console.ts'

const port = await freePort()
const baseUrl = `http://127.0.0.1:${port}/errand`

testConsole(
  'the console works below a path of its host',
  async (opened) => {
    opened.allow(/status of 401/)
    const page = await opened.newVisit()
    const outside: string[] = []
    page.on('request', (request) => {
      const url = request.url()
      if (url !== baseUrl && !url.startsWith(`${baseUrl}/`) && !/^(?:blob|data):/.test(url)) outside.push(url)
    })
    await page.goto(`${baseUrl}/tasks?status=failed`)
    await page.waitForURL(`${baseUrl}/login?returnTo=%2Ftasks%3Fstatus%3Dfailed`)
    await page.getByLabel('Email').fill(opened.visitor.email)
    await page.getByLabel('Password', { exact: true }).fill(opened.visitor.password)
    await page.keyboard.press('Enter')
    await page.waitForURL(`${baseUrl}/tasks?status=failed`)

    await page.getByRole('navigation').getByRole('link', { name: 'Settings' }).click()
    await page.waitForURL(`${baseUrl}/settings/keys`)
    await page.reload()
    await page.getByRole('heading', { name: 'API keys' }).waitFor()
    await page.getByRole('navigation').getByRole('link', { name: 'Usage' }).click()
    await page.waitForURL(`${baseUrl}/usage`)
    await page.getByRole('button', { name: 'Code examples' }).click()
    await page.getByText(`${baseUrl}/api/usage`).first().waitFor()

    await page.goto(`${baseUrl}/docs`)
    await page.getByText('/api/tasks', { exact: true }).first().waitFor()
    await page.goto(baseUrl)
    await page.getByRole('link', { name: /25\.00/ }).waitFor()
    expect(outside).toEqual([])
  },
  { baseUrl, port },
)
