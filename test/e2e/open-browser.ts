import { existsSync } from 'node:fs'
import sparticuz from '@sparticuz/chromium'
import { chromium, type Browser } from 'playwright-core'
import { CannotRun } from '../support/test-parts.ts'
import { packagedChromium } from './unpack-browser.ts'

/** One Chromium for all tests of a worker. It closes with the worker. */
let opening: Promise<Browser> | undefined

/** Throws CannotRun if no browser can start. */
export async function openBrowser(): Promise<Browser> {
  const browser = await (opening ??= launch())
  if (browser.isConnected()) return browser
  opening = undefined
  throw new Error('Chromium ended in the middle of the tests')
}

const launchMsMax = 60_000

const installed = [
  '/usr/bin/google-chrome',
  '/usr/bin/google-chrome-stable',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  String.raw`C:\Program Files\Google\Chrome\Application\chrome.exe`,
]

async function launch(): Promise<Browser> {
  const reasons: string[] = []
  for (const options of candidates()) {
    try {
      return await chromium.launch({ ...options, headless: true, timeout: launchMsMax })
    } catch (error) {
      reasons.push(error instanceof Error ? error.message : String(error))
    }
  }
  throw new CannotRun('browser', `no Chromium starts: ${reasons.join('; ') || 'none is installed'}`)
}

function candidates(): { executablePath: string; args: string[] }[] {
  const local = installed
    .filter((path) => existsSync(path))
    .map((executablePath) => ({ executablePath, args: ['--no-sandbox'] }))
  return packagedChromium ? [{ executablePath: packagedChromium, args: packagedArgs() }, ...local] : local
}

/** Returns the package's recommended arguments, without those that make it differ from users' browsers. */
function packagedArgs(): string[] {
  const unwanted = new Set([
    // Saves memory, but the browser dies with the first page that closes.
    '--single-process',
    '--no-zygote',
    // These options let a page read data from other origins.
    '--disable-web-security',
    '--disable-site-isolation-trials',
    '--allow-running-insecure-content',
    // Rendering with software GL takes 40% of the CPU time of the browser tests.
    '--ignore-gpu-blocklist',
    '--in-process-gpu',
    '--use-gl=angle',
    '--use-angle=swiftshader',
    '--enable-unsafe-swiftshader',
  ])
  const args = sparticuz.args.filter((arg) => !unwanted.has(arg) && !/^--disable-features=.*IsolateOrigins/.test(arg))
  return [...args, '--disable-gpu']
}
