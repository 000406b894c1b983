import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { operationPages } from '../site/operation-pages.ts'

// Builds the documentation site in dist/docs. With --dev, serves the site and follows changes instead. VitePress is in
// a separate package that is installed on first use, because nothing else needs it.

const root = fileURLToPath(new URL('../', import.meta.url))
const site = join(root, 'site')
const { values } = parseArgs({
  options: { dev: { type: 'boolean', default: false }, out: { type: 'string', default: join(root, 'dist', 'docs') } },
})

installPackages()
rmSync(join(site, 'operations'), { recursive: true, force: true })
mkdirSync(join(site, 'operations'))
for (const { file, text } of operationPages()) writeFileSync(join(root, file), text)
const command = values.dev ? ['dev', site] : ['build', site, '--outDir', values.out]
const vitepress = join(site, 'node_modules/vitepress/bin/vitepress.js')
const { status } = spawnSync(process.execPath, [vitepress, ...command], { stdio: 'inherit' })
if (status === 0 && !values.dev) console.log(`The site is in ${values.out}`)
process.exitCode = status ?? 1

function installPackages(): void {
  // npm writes this file at the end of an installation.
  const note = join(site, 'node_modules/.package-lock.json')
  if (existsSync(note) && statSync(note).mtimeMs >= statSync(join(site, 'package-lock.json')).mtimeMs) return
  console.log('Installing VitePress (once)…')
  execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: site, stdio: 'inherit' })
  utimesSync(note, new Date(), new Date())
}
