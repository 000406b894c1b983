// Builds the web console if it is missing or outdated. Also runs alone: `node scripts/build-console.mjs`.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const sources = ['console', 'client', 'server/kernel/money.ts', 'server/kernel/assert.ts', 'package-lock.json']
const built = join(root, 'console', 'dist')
/** Digest of the sources, stored in the build folder. */
const digestName = '.sources'

/**
 * Hashes all sources of the console. Modification times do not work: a copy has the times of the copying, and a
 * read-only copy must be served as it is.
 */
function digestSources() {
  const hash = createHash('sha256')
  const add = (path) => {
    const stats = statSync(join(root, path), { throwIfNoEntry: false })
    // An editor's temporary file that is gone, or a broken link.
    if (!stats) return
    if (stats.isFile()) return void hash.update(`${path}\0${stats.size}\0`).update(readFileSync(join(root, path)))
    const names = readdirSync(join(root, path)).sort()
    for (const name of names) if (join(root, path, name) !== built) add(`${path}/${name}`)
  }
  for (const source of sources) add(source)
  return hash.digest('hex')
}

export function buildConsole() {
  // Read before the build, which does not include files saved while it runs.
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
  // Built in a temporary folder and moved into place, so that an interrupted build leaves the console unchanged.
  const aside = join(root, 'node_modules', `.console-${process.pid}`)
  const old = `${aside}-old`
  try {
    const config = join(root, 'console', 'vite.config.ts')
    const args = ['build', '--config', config, '--outDir', aside, '--emptyOutDir', '--logLevel', 'warn']
    // Also under tests: React has a far larger build for all environments but production.
    const env = { ...process.env, NODE_ENV: 'production' }
    execFileSync(node, [vite, ...args], { cwd: root, stdio: ['ignore', 2, 2], env })
    writeFileSync(join(aside, digestName), digest)
    move(built, old, 'ENOENT')
    // A concurrent set-up may have been first, with the same result.
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
