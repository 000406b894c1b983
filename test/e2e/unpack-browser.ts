import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const modules = fileURLToPath(new URL('../../node_modules/', import.meta.url))
const { version } = JSON.parse(readFileSync(join(modules, '@sparticuz/chromium/package.json'), 'utf8')) as {
  version: string
}
const folder = join(modules, `.chromium-${version}`)
const unpackMsMax = 120_000

/** Path of the packaged Chromium, which is for Linux on x64. */
export const packagedChromium =
  process.platform === 'linux' && process.arch === 'x64' ? join(folder, 'chromium') : undefined

/**
 * Unpacks the packaged Chromium once per checkout, before the tests. The library itself would do so in each process.
 */
export default function unpackBrowser(): void {
  if (!packagedChromium || existsSync(packagedChromium)) return
  const aside = mkdtempSync(join(modules, '.chromium-'))
  const unpack = `await (await import('@sparticuz/chromium')).default.executablePath()`
  try {
    execFileSync(process.execPath, ['--input-type=module', '-e', unpack], {
      cwd: modules,
      env: { ...process.env, TMPDIR: aside },
      timeout: unpackMsMax,
    })
    renameSync(aside, folder)
  } catch (error) {
    // A concurrent run may have unpacked it first.
    if (!existsSync(packagedChromium)) throw error
  } finally {
    rmSync(aside, { recursive: true, force: true })
  }
}
