import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../../', import.meta.url))

export type Import = { from: string; to: string; isTypeOnly: boolean }

/** Our files, relative to the root of the checkout. */
export const files = ['server', 'openapi', 'client', 'bench', 'examples', 'test', 'scripts', 'console'].flatMap(
  (folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(?:ts|tsx|mjs)$/.test(name))
      .map((name) => `${folder}/${name}`),
)
/** All imports of these files, which name our own files in the same way. */
export const imports = files.flatMap(importsOf)

function importsOf(file: string): Import[] {
  const source = readFileSync(join(root, file), 'utf8')
  const statements = source.matchAll(/^(?:import|export)\s+(type\s)?(?:[^'"=;]*?\sfrom\s+)?'([^']+)'/gm)
  const dynamic = source.matchAll(/import\('([^']+)'\)/g)
  const required = source.matchAll(/\brequire\('([^']+)'\)/g)
  return [
    ...Array.from(statements, ([, type, target]) => resolveImport(file, target!, type !== undefined)),
    ...Array.from(dynamic, ([, target]) => resolveImport(file, target!, false)),
    ...Array.from(required, ([, target]) => resolveImport(file, target!, false)),
  ]
}

function resolveImport(from: string, target: string, isTypeOnly: boolean): Import {
  const to = target.startsWith('.') ? relative('.', normalize(join(dirname(from), target))) : target
  return { from, to, isTypeOnly }
}

export function describeImport({ from, to }: Import): string {
  return `${from} → ${to}`
}
