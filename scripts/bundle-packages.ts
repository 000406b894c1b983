import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { dirname, join, relative, sep } from 'node:path'
import { build } from 'vite'

/**
 * Packages to bundle, because the server uses only a small part of each. Installed, they take 113 MB, of which 31 MB
 * are the TypeScript peer dependency of @trpc/server. Bundled, they take 5 MB.
 */
const bundled: ReadonlySet<string> = new Set([
  '@ai-sdk/anthropic',
  '@ai-sdk/openai',
  '@ai-sdk/openai-compatible',
  '@trpc/server',
  'csv-parse',
  'drizzle-orm',
  'gpt-tokenizer',
  'stripe',
])
/** Packages that are not bundled, because the bundles and the server must share one copy. */
const external = ['better-sqlite3', 'pg', 'zod']

const specifier =
  /((?:(?<!['"])\bfrom|^import)\s*|\b(?:import|require|createRequire\(import\.meta\.url\))\(\s*)(['"])([^'"\n]+)\2/gm

export function readSpecifiers(file: string): string[] {
  return [...readFileSync(file, 'utf8').matchAll(specifier)].map(([, , , name = '']) => name).filter(isOfPackage)
}

/** Whether the name refers to a package, not to a built-in module or a file of the package itself. */
function isOfPackage(name: string): boolean {
  return !name.startsWith('.') && !name.startsWith('#') && !isBuiltin(name)
}

/** Converts `@scope/name/sub/module` to `@scope/name`. */
export function packageOf(name: string): string {
  return name
    .split('/')
    .slice(0, name.startsWith('@') ? 2 : 1)
    .join('/')
}

type Bundle = { root: string; modules: readonly string[]; folder: string }

/** Bundles the used parts of packages into a folder, together with the packages' licenses. */
export async function bundlePackages({ root, modules, folder }: Bundle): Promise<void> {
  const names = [...new Set(modules.flatMap(readSpecifiers))].filter((name) => bundled.has(packageOf(name)))
  const result = await build({
    root,
    configFile: false,
    logLevel: 'warn',
    publicDir: false,
    ssr: { noExternal: true, external },
    build: {
      ssr: true,
      target: 'node22',
      outDir: folder,
      emptyOutDir: true,
      rolldownOptions: {
        input: Object.fromEntries(names.map((name) => [fileOf(name), name])),
        output: { entryFileNames: '[name].js', chunkFileNames: 'chunks/[name]-[hash].js' },
      },
    },
  })
  const inside = new Set(
    modulesOf(result).flatMap((file) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1] ?? []),
  )
  const licences = [...inside].toSorted().map((name) => `${name}\n\n${licenceOf(join(root, 'node_modules', name))}`)
  writeFileSync(join(folder, 'LICENSES.txt'), licences.join(`\n${'-'.repeat(80)}\n\n`))
}

function modulesOf(result: Awaited<ReturnType<typeof build>>): string[] {
  const outputs = Array.isArray(result) ? result : 'output' in result ? [result] : []
  const chunks = outputs.flatMap(({ output }) => output).filter((part) => part.type === 'chunk')
  return chunks.flatMap(({ moduleIds }) => moduleIds)
}

function licenceOf(folder: string): string {
  const file = ['LICENSE', 'LICENSE.md', 'LICENSE.txt'].map((name) => join(folder, name)).find(existsSync)
  if (file !== undefined) return readFileSync(file, 'utf8')
  const { author, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    author?: string
    license: string
  }
  return `${license} licence${author === undefined ? '' : `, by ${author}`}\n`
}

function fileOf(name: string): string {
  return name.replace('@', '')
}

export function useBundled(file: string, folder: string): void {
  const text = readFileSync(file, 'utf8')
  const changed = text.replace(specifier, (all, before: string, quote: string, name: string) => {
    if (!bundled.has(packageOf(name))) return all
    const path = relative(dirname(file), join(folder, `${fileOf(name)}.js`)).replaceAll(sep, '/')
    return `${before}${quote}${path.startsWith('.') ? path : `./${path}`}${quote}`
  })
  if (changed !== text) writeFileSync(file, changed)
}
