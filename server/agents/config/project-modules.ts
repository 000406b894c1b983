import { readFileSync, realpathSync } from 'node:fs'
import { createRequire, isBuiltin, registerHooks } from 'node:module'
import { resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

// A project is a configuration file and the modules that it imports, except packages. Only the main thread reads them
// from disk. Agent threads get copies from it, so all threads run the same code even if files have since changed.

/** A project's files with their sources. The configuration file comes first. */
export type ProjectModules = Map<string, { format: string | null | undefined; source: Buffer }>

export const projectFiles = new Set<string>()

const loadParam = 'errand-load'
const loaded = new Map<string, ProjectModules>()
/** Modules read so far by each load in progress, keyed by the load's `loadParam` URL parameter. */
const reading = new Map<string | null, ProjectModules>()
const { cache: commonJsModules } = createRequire(import.meta.url)
let given: ProjectModules | undefined
let loads = 0
let isHooked = false

/** Imports a configuration file. Each call reads all modules of the project from disk again. */
export async function importProject(path: string): Promise<unknown> {
  hookImports()
  const file = realpathSync(path)
  const url = pathToFileURL(file)
  projectFiles.add(file)
  // Node caches ES modules by URL, so repeated loads add a query parameter. The first load adds none, which keeps stack
  // traces readable.
  const load = loads++ === 0 ? null : String(loads)
  if (load !== null) url.searchParams.set(loadParam, load)
  for (const known of projectFiles) delete commonJsModules[known]
  const modules: ProjectModules = new Map()
  reading.set(load, modules)
  try {
    const imported: unknown = await import(url.href)
    // If the embedding program has already imported the file, Node uses its cache, and `modules` lacks the file.
    if (modules.has(file)) loaded.set(path, modules)
    return imported
  } finally {
    reading.delete(load)
  }
}

export async function importModules(modules: ProjectModules): Promise<unknown> {
  given = modules
  for (const file of modules.keys()) projectFiles.add(file)
  hookImports()
  const [file = ''] = modules.keys()
  return await import(pathToFileURL(file).href)
}

/** Returns the modules from the last load of the configuration file. */
export function modulesOf(path: string): ProjectModules | undefined {
  return loaded.get(resolve(path))
}

/**
 * Packages that a configuration file in any folder can import: this package, and the Zod version that parses the file's
 * schemas.
 */
const providedPackages = /^(?:zod|errand|errand\/(?:client|adapters\/.+))$/

function hookImports(): void {
  if (isHooked) return
  isHooked = true
  registerHooks({
    resolve: (specifier, context, nextResolve) => {
      const { parentURL } = context
      const isFromProject = parentURL !== undefined && isOfProject(parentURL)
      if (isFromProject && given && /^\.{0,2}\//.test(specifier)) {
        const { href: url } = new URL(specifier, parentURL)
        if (given.has(fileURLToPath(url))) return { url, shortCircuit: true }
      }
      const resolved = orLent(specifier, (parent) =>
        nextResolve(specifier, { ...context, parentURL: parent ?? parentURL }),
      )
      if (!isFromProject || isPackage(specifier, resolved.url)) return resolved
      const url = new URL(resolved.url)
      projectFiles.add(fileURLToPath(url))
      const load = new URL(parentURL).searchParams.get(loadParam)
      if (load !== null) url.searchParams.set(loadParam, load)
      return { ...resolved, url: url.href }
    },
    load: (url, context, nextLoad) => {
      if (!isOfProject(url)) return nextLoad(url, context)
      const file = fileURLToPath(url)
      const own = given?.get(file)
      if (own) return { ...own, shortCircuit: true }
      const result = nextLoad(url, context)
      const source = Buffer.from((result.source as string | Uint8Array | null) ?? readFileSync(file))
      reading.get(new URL(url).searchParams.get(loadParam))?.set(file, { format: result.format, source })
      return result
    },
  })
}

function orLent<Resolved>(specifier: string, resolve: (parentURL?: string) => Resolved): Resolved {
  try {
    return resolve()
  } catch (error) {
    if (!providedPackages.test(specifier)) throw error
    return resolve(import.meta.url)
  }
}

function isOfProject(url: string): boolean {
  return url.startsWith('file:') && projectFiles.has(fileURLToPath(url))
}

function isPackage(specifier: string, url: string): boolean {
  return (
    isBuiltin(specifier) ||
    /^errand(?:\/|$)/.test(specifier) ||
    url.includes('/node_modules/') ||
    !url.startsWith('file:')
  )
}
