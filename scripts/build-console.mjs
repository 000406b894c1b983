// Builds the web console when it is missing or other than its sources; `node scripts/build-console.mjs` does only this.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
/** What the console is built from: files, and folders with all that is in them. */
const sources = ['console', 'client', 'server/kernel/money.ts', 'server/kernel/assert.ts', 'package-lock.json']
const built = join(root, 'console', 'dist')
/** In the built folder; of the sources that it was built from. */
const digestName = '.sources'

/**
 * A digest of all that the console is built from. Not the times of the files: in a copy they are those of the copying, and
 * a copy that nothing can be written to is to be served as it is.
 */
function digestSources() {
  const hash = createHash('sha256')
  const add = (path) => {
    const stats = statSync(join(root, path), { throwIfNoEntry: false })
    // An editor's file that is gone by now, or a link that leads nowhere.
    if (!stats) return
    if (stats.isFile()) return void hash.update(`${path}\0${stats.size}\0`).update(readFileSync(join(root, path)))
    const names = readdirSync(join(root, path)).sort()
    for (const name of names) if (join(root, path, name) !== built) add(`${path}/${name}`)
  }
  for (const source of sources) add(source)
  return hash.digest('hex')
}

export function buildConsole() {
  // Read before the build: what is saved while it runs is not in it.
  const digest = digestSources()
  if (readDigest() === digest) return
  const vite = join(root, 'node_modules', 'vite', 'bin', 'vite.js')
  if (!existsSync(vite)) {
    const lacking = existsSync(join(built, 'index.html')) ? 'is served as it was built before' : 'is not served'
    console.error(`The web console ${lacking}: to build it, install the development packages too (npm ci).`)
    return
  }
  console.error('Building the web console…')
  const installed = join(root, 'node_modules', '.bin', 'node')
  const node = existsSync(installed) ? installed : process.execPath
  // Built aside and moved into place, so that a build that is cut off leaves the console as it was.
  const aside = join(root, 'node_modules', `.console-${process.pid}`)
  const old = `${aside}-old`
  try {
    const config = join(root, 'console', 'vite.config.ts')
    const args = ['build', '--config', config, '--outDir', aside, '--emptyOutDir', '--logLevel', 'warn']
    // Whatever runs this, a test too: React has another, far larger build for all but production.
    const env = { ...process.env, NODE_ENV: 'production' }
    execFileSync(node, [vite, ...args], { cwd: root, stdio: ['ignore', 2, 2], env })
    writeFileSync(join(aside, digestName), digest)
    move(built, old, 'ENOENT')
    // Another set-up at the same time may have been first, with the same result.
    move(aside, built, 'ENOTEMPTY', 'EEXIST')
  } finally {
    rmSync(aside, { recursive: true, force: true })
    rmSync(old, { recursive: true, force: true })
  }
}

function readDigest() {
  try {
    return readFileSync(join(built, digestName), 'utf8')
  } catch {
    return undefined
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
