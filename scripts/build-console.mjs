// Builds the web console when it is missing or older than its sources; `node scripts/build-console.mjs` does only this.
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, renameSync, rmSync, statSync, utimesSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
/** What the console is built from: files, and folders with all that is in them. */
const sources = ['console', 'client', 'server/kernel/money.ts', 'server/kernel/assert.ts', 'package-lock.json']
const built = join(root, 'console', 'dist')

/** The time of the newest change below a path. A folder counts too, for the files that are gone from it. */
function newestChange(path) {
  const stats = statSync(path, { throwIfNoEntry: false })
  // An editor's file that is gone by now, or a link that leads nowhere.
  if (!stats) return 0
  if (!stats.isDirectory()) return stats.mtimeMs
  const below = readdirSync(path, { withFileTypes: true })
    .filter((entry) => join(path, entry.name) !== built)
    .map((entry) => newestChange(join(path, entry.name)))
  // The build itself changes the folder that it stands in.
  return Math.max(path === dirname(built) ? 0 : stats.mtimeMs, ...below)
}

export function buildConsole() {
  const stamp = join(built, 'index.html')
  const newest = Math.max(...sources.map((source) => newestChange(join(root, source))))
  if (existsSync(stamp) && statSync(stamp).mtimeMs >= newest) return
  console.error('Building the web console…')
  const startedAt = new Date()
  const installed = join(root, 'node_modules', '.bin', 'node')
  const node = existsSync(installed) ? installed : process.execPath
  // Built aside and moved into place, so that a build that is cut off leaves the console as it was.
  const aside = join(root, 'node_modules', `.console-${process.pid}`)
  const old = `${aside}-old`
  try {
    const vite = join(root, 'node_modules', 'vite', 'bin', 'vite.js')
    const config = join(root, 'console', 'vite.config.ts')
    const args = ['build', '--config', config, '--outDir', aside, '--emptyOutDir', '--logLevel', 'warn']
    // Whatever runs this, a test too: React has another, far larger build for all but production.
    const env = { ...process.env, NODE_ENV: 'production' }
    execFileSync(node, [vite, ...args], { cwd: root, stdio: ['ignore', 2, 2], env })
    // What is saved while the build runs is newer than its result.
    utimesSync(join(aside, 'index.html'), startedAt, startedAt)
    move(built, old, 'ENOENT')
    // Another set-up at the same time may have been first, with the same result.
    move(aside, built, 'ENOTEMPTY', 'EEXIST')
  } finally {
    rmSync(aside, { recursive: true, force: true })
    rmSync(old, { recursive: true, force: true })
  }
}

function move(from, to, ...accepted) {
  try {
    renameSync(from, to)
  } catch (error) {
    if (!accepted.includes(error.code)) throw error
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) buildConsole()
