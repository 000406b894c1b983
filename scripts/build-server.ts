import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { addCommonJs } from './common-js.ts'
import { exported, serverManifest, type RootManifest } from './server-manifest.ts'
import { bundlePackages, readSpecifiers, useBundled } from './bundle-packages.ts'
import { packagedPage, packagedPaths, packageReadmes } from './package-pages.ts'

// Builds the publishable package dist/errand, which contains the compiled server, the console, the migrations, the
// OpenAPI document and the quickstart. The server's folders are the same as in a checkout, so relative paths work in
// both. It is compiled because Node does not strip types below node_modules.

const root = fileURLToPath(new URL('../', import.meta.url))
const built = join(root, 'dist', 'errand')
// Build in a temporary folder and then move the result into place, so that an interrupted build leaves no partial
// package.
const out = `${built}.${process.pid}.partial`

rmSync(out, { recursive: true, force: true })
mkdirSync(out, { recursive: true })
try {
  compile()
  const entries = Object.values(exported).map((path) => join(out, path))
  const declarations = reachedDeclarations(entries.map((entry) => `${entry}.d.ts`))
  dropDeclarations(declarations)
  addCommonJs({ modules: entries, declarations })
  const modules = filesBelow(out).filter((file) => file.endsWith('.js'))
  await bundlePackages({ root, modules, folder: join(out, 'server', 'bundled') })
  for (const file of modules) useBundled(file, join(out, 'server', 'bundled'))
  execFileSync(process.execPath, [join(root, 'scripts', 'build-console.mjs')], { stdio: 'inherit' })
  for (const path of packagedPaths) cpSync(join(root, path), join(out, path), { recursive: true })
  for (const page of globSync('docs/**/*.md', { cwd: out })) {
    writeFileSync(join(out, page), packagedPage(page, readFileSync(join(out, page), 'utf8')))
  }
  copyStarter()
  chmodSync(join(out, 'server', 'errand.cjs'), 0o755)
  cpSync(join(root, packageReadmes.errand), join(out, 'README.md'))
  const rootManifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as RootManifest
  const needed = modules.flatMap(readSpecifiers)
  const manifest = serverManifest(rootManifest, needed)
  writeFileSync(join(out, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  rmSync(built, { recursive: true, force: true })
  renameSync(out, built)
} finally {
  rmSync(out, { recursive: true, force: true })
}

function compile(): void {
  const tsc = join(root, 'node_modules', '.bin', 'tsc')
  execFileSync(tsc, ['-p', join(root, 'scripts', 'server.tsconfig.json'), '--outDir', out], { stdio: 'inherit' })
}

/**
 * Returns the entry modules and all declarations that they refer to. Other declarations import packages that users do
 * not install.
 */
function reachedDeclarations(entries: readonly string[]): Set<string> {
  const reached = new Set(entries)
  for (const file of reached) {
    for (const [, path = ''] of readFileSync(file, 'utf8').matchAll(/from '(\.[^']+)'/g)) {
      reached.add(join(dirname(file), path.replace(/\.[jt]s$/, '.d.ts')))
    }
  }
  return reached
}

function dropDeclarations(kept: ReadonlySet<string>): void {
  for (const file of filesBelow(out)) if (file.endsWith('.d.ts') && !kept.has(file)) rmSync(file)
}

/** Copies the files for `errand init`. They end in `.txt`, because Node does not run TypeScript below node_modules. */
function copyStarter(): void {
  const from = join(root, 'examples', 'starter')
  for (const file of filesBelow(from)) {
    const to = join(out, 'examples', 'starter', file.slice(from.length))
    mkdirSync(dirname(to), { recursive: true })
    cpSync(file, `${to}.txt`)
  }
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && basename(entry.parentPath) !== 'node_modules')
    .map((entry) => join(entry.parentPath, entry.name))
}
