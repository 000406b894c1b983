import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, extname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))
const starter = join(root, 'examples/starter')
const { dependencies, version } = createRequire(import.meta.url)('../../package.json') as {
  dependencies: Record<string, string>
  version: string
}
const packages = ['errand', 'errand-client']

/** Creates a project with an agent, a client and a test. Writes nothing if one of the files already exists. */
export async function init(folder: string): Promise<void> {
  const files = readdirSync(starter, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((from) => ({ from, to: join(folder, targetOf(relative(starter, from))) }))
  const taken = files.find(({ to }) => existsSync(to))
  if (taken)
    throw new Error(`${taken.to} already exists, so nothing was written. Choose a new folder with errand init FOLDER.`)
  // Everyone who works on the project must be able to read the files, and so must the user inside a container.
  process.umask(0o022)
  const tarballs = extname(import.meta.url) === '.ts' ? packClone() : await installedTarballs()
  for (const { from, to } of files) {
    const text = await readFile(from, 'utf8')
    await mkdir(dirname(to), { recursive: true })
    await writeFile(to, basename(to) === 'package.json' ? manifest(text, folder, tarballs) : text, { flag: 'wx' })
  }
  for (const tarball of tarballs.values()) await copyFile(tarball, join(folder, basename(tarball)))
  const enter = resolve(folder) === process.cwd() ? '' : `cd ${folder} && `
  process.stdout.write(
    `Wrote ${files.length + tarballs.size} files to ${resolve(folder)}. Next, with Node 22.18 or newer:\n\n  ${enter}npm install && npm start\n\nSee README.md for more.\n`,
  )
}

/** Tarballs to install, by package name. npm downloads all other packages from the registry. */
type Tarballs = ReadonlyMap<string, string>

/** Packs this Git clone, because the registry may not have its version. */
function packClone(): Tarballs {
  process.stderr.write('Packing this clone of Errand…\n')
  for (const script of ['build', 'pack']) {
    execFileSync('npm', ['run', '--silent', script], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] })
  }
  return new Map(packages.map((name) => [name, join(root, 'dist', `${name}-${version}.tgz`)]))
}

async function installedTarballs(): Promise<Tarballs> {
  const project = resolve(root, '../..')
  const record = join(project, 'node_modules/.package-lock.json')
  if (!existsSync(record)) return new Map()
  const { packages: installed } = JSON.parse(await readFile(record, 'utf8')) as {
    packages: Record<string, { resolved?: string }>
  }
  const files = packages.map((name) => {
    const [, path = ''] = /^file:(.*\.tgz)$/.exec(installed[`node_modules/${name}`]?.resolved ?? '') ?? []
    return [name, resolve(project, path)] as const
  })
  return new Map(files.filter(([, file]) => file.endsWith('.tgz') && existsSync(file)))
}

/**
 * Returns the path of a template file in the new project. Templates end in `.txt`, because Node does not run TypeScript
 * files in node_modules. `.gitignore` is renamed because npm does not publish it, and `package.json` because it would
 * affect the files next to it.
 */
function targetOf(path: string): string {
  return path
    .replace(/\.txt$/, '')
    .replace(/^dot-/, '.')
    .replace(/^manifest\.json$/, 'package.json')
}

/** Inserts the project's name, our package versions, and the Zod version that agents must use for schemas. */
function manifest(text: string, folder: string, tarballs: Tarballs): string {
  const name = basename(resolve(folder))
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
  const draft = JSON.parse(text) as { name: string; dependencies: Record<string, string> }
  if (name !== '') draft.name = name
  for (const own of packages) {
    const tarball = tarballs.get(own)
    draft.dependencies[own] = tarball === undefined ? `^${version}` : `file:${basename(tarball)}`
  }
  draft.dependencies['zod'] = `^${dependencies['zod']}`
  return `${JSON.stringify(draft, null, 2)}\n`
}
