import { existsSync, readdirSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const starter = fileURLToPath(new URL('../../examples/starter/', import.meta.url))
const { dependencies, version } = createRequire(import.meta.url)('../../package.json') as {
  dependencies: Record<string, string>
  version: string
}

/** Writes a project with an agent, a client and a test. Writes nothing if one of its files already exists. */
export async function init(folder: string): Promise<void> {
  const files = readdirSync(starter, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((from) => ({ from, to: join(folder, targetOf(relative(starter, from))) }))
  const taken = files.find(({ to }) => existsSync(to))
  if (taken) throw new Error(`${taken.to} already exists. Nothing was written; choose a new folder: errand init FOLDER`)
  // The files must be readable by everyone who works on the project, and in a container image into which they are
  // copied.
  process.umask(0o022)
  for (const { from, to } of files) {
    const text = await readFile(from, 'utf8')
    await mkdir(dirname(to), { recursive: true })
    await writeFile(to, basename(to) === 'package.json' ? manifest(text, folder) : text, { flag: 'wx' })
  }
  const enter = resolve(folder) === process.cwd() ? '' : `cd ${folder} && `
  process.stdout.write(
    `Wrote ${files.length} files to ${resolve(folder)}. Next:\n\n  ${enter}npm install && npm start\n\nREADME.md has the rest.\n`,
  )
}

/**
 * Returns the name in the project. In the package, TypeScript files end in `.txt`, and npm does not publish files named
 * `.gitignore`. A `package.json` would apply to the files beside it.
 */
function targetOf(path: string): string {
  return path
    .replace(/\.txt$/, '')
    .replace(/^dot-/, '.')
    .replace(/^manifest\.json$/, 'package.json')
}

/** Inserts the versions that this package requires. Schemas of agents must be created with the same Zod. */
function manifest(text: string, folder: string): string {
  const name = basename(resolve(folder))
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
  const draft = JSON.parse(text) as { name: string; dependencies: Record<string, string> }
  if (name !== '') draft.name = name
  draft.dependencies = { errand: `^${version}`, 'errand-client': `^${version}`, zod: `^${dependencies['zod']}` }
  return `${JSON.stringify(draft, null, 2)}\n`
}
