import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { repositoryFields } from './repository-fields.ts'

// Packs the three packages into tarballs in dist/ and prints their paths. create-errand needs no build.

const root = fileURLToPath(new URL('../', import.meta.url))
const dist = join(root, 'dist')
for (const old of globSync('*.tgz', { cwd: dist })) rmSync(join(dist, old))
copyCreateErrand()
for (const name of ['errand', 'errand-client', 'create-errand']) {
  const folder = join(dist, name)
  if (!existsSync(folder)) throw new Error(`${folder} is missing. Run npm run build first.`)
  const packed = execFileSync('npm', ['pack', '--silent', '--pack-destination', dist], {
    cwd: folder,
    encoding: 'utf8',
  })
  console.log(join(dist, packed.trim()))
}

function copyCreateErrand(): void {
  const folder = join(dist, 'create-errand')
  cpSync(join(root, 'create-errand'), folder, { recursive: true })
  const file = join(folder, 'package.json')
  const manifest = { ...(JSON.parse(readFileSync(file, 'utf8')) as object), ...repositoryFields('create-errand') }
  writeFileSync(file, `${JSON.stringify(manifest, null, 2)}\n`)
}
