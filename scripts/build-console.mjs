// Builds the web console if it is missing or outdated. Can also be run directly: `node scripts/build-console.mjs`.
import { createHash } from 'node:crypto'
import { cpSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installLocked, runCommand } from './run-command.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const manifests = ['.npmrc', 'package.json', 'package-lock.json', 'tsconfig.json']
const sources = ['console', 'client', 'server/kernel/money.ts', 'server/kernel/assert.ts']
const built = join(root, 'console', 'dist')
const digestName = '.sources'

const isSource = (path) => path !== built && !path.endsWith('node_modules')

/**
 * Hashes all sources of the console. Modification times would not work: all files of a copied checkout look new, and a
 * read-only copy could not be rebuilt.
 */
function digestSources() {
  const hash = createHash('sha256')
  const add = (path) => {
    const stats = statSync(join(root, path), { throwIfNoEntry: false })
    // Skip broken links, and temporary files of editors that no longer exist.
    if (!stats) return
    if (stats.isFile()) return void hash.update(`${path}\0${stats.size}\0`).update(readFileSync(join(root, path)))
    const names = readdirSync(join(root, path)).sort()
    for (const name of names) if (isSource(join(root, path, name))) add(`${path}/${name}`)
  }
  for (const source of [...sources, 'package-lock.json']) add(source)
  return hash.digest('hex')
}

/**
 * Builds the console with the development packages of the checkout. If they are missing, copies the sources to a
 * temporary folder and installs the packages there. They are as large as the packages of the server.
 */
export async function buildConsole({ hasPackages, node }) {
  // Hash before the build, so that a file saved during the build makes the console outdated.
  const digest = digestSources()
  if (readDigest() === digest) return
  console.error('Building the web console…')
  // Build in a temporary folder and then move the result into place, so that an interrupted build leaves the existing
  // console unchanged.
  const folder = hasPackages ? join(root, 'node_modules', `.console-${process.pid}`) : join(root, '.setup-console')
  // An interrupted setup may have left the folder behind.
  rmSync(folder, { recursive: true, force: true })
  try {
    const from = hasPackages ? root : join(folder, 'copy')
    if (!hasPackages && !(await installCopy(from))) return
    const vite = join(from, 'node_modules', 'vite', 'bin', 'vite.js')
    const config = join(from, 'console', 'vite.config.ts')
    const aside = join(folder, 'dist')
    const args = ['build', '--config', config, '--outDir', aside, '--emptyOutDir', '--logLevel', 'warn']
    // Set this in tests too, because React's build for any other environment is much larger.
    const env = { ...process.env, NODE_ENV: 'production' }
    await runCommand(await node, [vite, ...args], { cwd: from, stdio: ['ignore', 2, 2], env })
    writeFileSync(join(aside, digestName), digest)
    move(built, join(folder, 'old'), 'ENOENT')
    // A concurrent build may already have moved the same result into place.
    move(aside, built, 'ENOTEMPTY', 'EEXIST')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * Copies the sources and installs the packages for the build. Returns false if the installation fails, for example
 * because there is no network.
 */
async function installCopy(to) {
  for (const path of [...manifests, ...sources]) {
    cpSync(join(root, path), join(to, path), { recursive: true, filter: isSource })
  }
  try {
    await installLocked(to, '--workspace=console', '--include=dev')
    return true
  } catch {
    const state = existsSync(join(built, 'index.html')) ? 'is served from its previous build' : 'is not served'
    console.error(
      `The web console ${state}, because its build packages could not be installed. Check the network and try again.`,
    )
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
