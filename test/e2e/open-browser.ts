import { existsSync } from 'node:fs'
import sparticuz from '@sparticuz/chromium'
import { chromium, type Browser } from 'playwright-core'
import { afterAll } from 'vitest'

/** One Chromium for all tests of a file; the reason in words when the machine cannot start any. */
let opening: Promise<Browser | string> | undefined

export function openBrowser(): Promise<Browser | string> {
  opening ??= launch()
  return opening
}

afterAll(async () => {
  const browser = await opening
  if (typeof browser === 'object') await browser.close()
})

const installed = [
  '/usr/bin/google-chrome',
  '/usr/bin/google-chrome-stable',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  String.raw`C:\Program Files\Google\Chrome\Application\chrome.exe`,
]

async function launch(): Promise<Browser | string> {
  const reasons: string[] = []
  for (const candidate of candidates()) {
    try {
      return await chromium.launch({ ...(await candidate()), headless: true })
    } catch (error) {
      reasons.push(error instanceof Error ? error.message.split('\n', 1)[0]! : String(error))
    }
  }
  return `no Chromium starts on this machine: ${reasons.join('; ') || 'none is installed'}`
}

function candidates(): (() => Promise<{ executablePath: string; args: string[] }>)[] {
  const own = async () => ({
    executablePath: await sparticuz.executablePath(),
    // Everything in one process saves memory, and falls with the first page that closes.
    args: sparticuz.args.filter((arg) => arg !== '--single-process' && arg !== '--no-zygote'),
  })
  const local = installed
    .filter((path) => existsSync(path))
    .map((executablePath) => async () => ({ executablePath, args: ['--no-sandbox'] }))
  // The packaged one is for Linux on x64 only.
  return process.platform === 'linux' && process.arch === 'x64' ? [own, ...local] : local
}
