// Builds the web console if it is missing or outdated. Also runs alone: `node scripts/build-console.mjs`.
import { createHash } from 'node:crypto'
import { cpSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installLocked, runCommand } from './run-command.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const manifests = ['.npmrc', 'package.json', 'package-lock.json', 'tsconfig.json']
const sources = ['console', 'client', 'server/kernel/money.ts', 'server/kernel/assert.ts']
const built = join(root, 'console', 'dist')
/** Digest of the sources, stored in the build folder. */
const digestName = '.sources'

const isSource = (path) => path !== built && !path.endsWith('node_modules')

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
    for (const name of names) if (isSource(join(root, path, name))) add(`${path}/${name}`)
  }
  for (const source of [...sources, 'package-lock.json']) add(source)
  return hash.digest('hex')
}

/**
 * Builds with the development packages of the checkout. Without them, builds a temporary copy of the sources, whose
 * packages are as large as the server's.
 */
export async function buildConsole({ hasPackages, node }) {
  // Read before the build, which does not include files saved while it runs.
  const digest = digestSources()
  if (readDigest() === digest) return
  console.error('Building the web console…')
  // Built in a temporary folder and moved into place, so that an interrupted build leaves the console unchanged.
  const folder = hasPackages ? join(root, 'node_modules', `.console-${process.pid}`) : join(root, '.setup-console')
  // Left by a set-up that was killed.
  rmSync(folder, { recursive: true, force: true })
  try {
    const from = hasPackages ? root : join(folder, 'copy')
    if (!hasPackages && !(await installCopy(from))) return
    const vite = join(from, 'node_modules', 'vite', 'bin', 'vite.js')
    const config = join(from, 'console', 'vite.config.ts')
    const aside = join(folder, 'dist')
    const args = ['build', '--config', config, '--outDir', aside, '--emptyOutDir', '--logLevel', 'warn']
    // Also under tests: React has a far larger build for all environments but production.
    const env = { ...process.env, NODE_ENV: 'production' }
    await runCommand(await node, [vite, ...args], { cwd: from, stdio: ['ignore', 2, 2], env })
    writeFileSync(join(aside, digestName), digest)
    move(built, join(folder, 'old'), 'ENOENT')
    // A concurrent build may have been first, with the same result.
    move(aside, built, 'ENOTEMPTY', 'EEXIST')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Copies the sources and installs what the build needs. Returns false if that fails, as it does without a network. */
async function installCopy(to) {
  for (const path of [...manifests, ...sources]) {
    cpSync(join(root, path), join(to, path), { recursive: true, filter: isSource })
  }
  try {
    await installLocked(to, '--workspace=console', '--include=dev')
    return true
  } catch {
    const state = existsSync(join(built, 'index.html')) ? 'is served as it was built before' : 'is not served'
    console.error(`The web console ${state}: the packages to build it could not be installed.`)
    return false
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

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await buildConsole({ hasPackages: true, node: process.execPath })
}
