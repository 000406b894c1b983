import { execFileSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { repositoryFields } from './repository-fields.ts'

// Checks, builds and packs a release of the three packages. Publishes them if `NODE_AUTH_TOKEN` is set. Otherwise
// prints what it would publish.

const root = fileURLToPath(new URL('../', import.meta.url))
const { values } = parseArgs({ options: { 'dry-run': { type: 'boolean', default: false } } })
/** Package names in publication order. Each package depends only on earlier ones. */
const names = ['errand-client', 'errand', 'create-errand']
const token = process.env['NODE_AUTH_TOKEN'] ?? ''

const { version } = readJson('package.json') as { version: string }
const problems: string[] = []
const note = (isRight: boolean, what: string, remedy: string) => {
  console.log(`${isRight ? 'ok      ' : 'PROBLEM '} ${what}`)
  if (!isRight) problems.push(`${what}: ${remedy}`)
}

const changed = run('git', 'status', '--porcelain')
note(changed === '', 'the working tree is clean', 'commit or stash what git status shows')
const changelog = readFileSync(join(root, 'CHANGELOG.md'), 'utf8')
const section = new RegExp(`^## \\[${version.replaceAll('.', '\\.')}\\] - (.+)$`, 'm').exec(changelog)
note(section !== null, `CHANGELOG.md has version ${version}`, `add its section, "## [${version}] - YYYY-MM-DD"`)
note(
  /^\d{4}-\d\d-\d\d$/.test(section?.[1] ?? ''),
  'the version has a date',
  'replace "unreleased" with the release date',
)
const { packages } = readJson('package-lock.json') as { packages: Record<string, { version?: string }> }
note(packages['']?.version === version, 'package-lock.json has the version', 'run npm install --package-lock-only')
const create = readJson('create-errand/package.json') as { version: string; dependencies: { errand: string } }
note(
  create.version === version && create.dependencies.errand === version,
  'create-errand has the version and requires errand of it',
  'set both in create-errand/package.json',
)

if (token !== '')
  note(
    repositoryFields().repository !== undefined,
    'the remote origin is on a host',
    'run git remote set-url origin URL, because npm accepts provenance only from a known repository',
  )

run('npm', 'run', 'build')
run('npm', 'run', 'pack')
const tarballs = new Set(globSync('*.tgz', { cwd: join(root, 'dist') }))
for (const name of names) {
  const file = `${name}-${version}.tgz`
  note(tarballs.has(file), `dist/${file} is packed`, 'run npm run pack and fix its errors')
  if (!tarballs.has(file)) continue
  lint('publint', '--strict', join(root, 'dist', file))
  lint('attw', '--format', 'table-flipped', join(root, 'dist', file))
}

for (const problem of problems) console.error(`release: ${problem}`)
const publishes = token !== '' && !values['dry-run'] && problems.length === 0
if (!publishes) console.log(`\nTo publish, set NODE_AUTH_TOKEN and run this without --dry-run. It would run:`)
for (const name of names) {
  const args = ['publish', `dist/${name}-${version}.tgz`, '--access', 'public', '--provenance']
  if (publishes) publish(args)
  else console.log(`  npm ${args.join(' ')}`)
}
if (publishes) console.log(`Published ${version}. Its tag is v${version}.`)
process.exitCode = problems.length > 0 ? 1 : 0

/** Passes the token in the environment, so that it does not appear in process lists. */
function publish(args: string[]): void {
  const registry = run('npm', 'config', 'get', 'registry').replace(/^https?:/, '')
  const env = { ...process.env, [`npm_config_${registry}:_authToken`]: token }
  execFileSync('npm', args, { cwd: root, env, stdio: 'inherit' })
}

/** Runs a tool that is not a dependency. If the tool is not installed, prints a message and skips the check. */
function lint(name: string, ...args: string[]): void {
  const folders = [join(root, 'node_modules', '.bin'), ...(process.env['PATH'] ?? '').split(delimiter)]
  if (!folders.some((folder) => existsSync(join(folder, name)))) {
    console.log(`skipped  ${name}: not installed (npm install -g publint @arethetypeswrong/cli)`)
    return
  }
  try {
    run(name, ...args)
    note(true, `${name} finds no problems in ${args.at(-1)}`, '')
  } catch (error) {
    note(false, `${name} finds no problems in ${args.at(-1)}`, String((error as { stdout?: string }).stdout))
  }
}

function readJson(name: string): unknown {
  return JSON.parse(readFileSync(join(root, name), 'utf8'))
}

function run(command: string, ...args: string[]): string {
  return execFileSync(command, args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trim()
}
