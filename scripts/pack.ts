import { execFileSync } from 'node:child_process'
import { existsSync, rmSync, globSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

// Packs the three packages into tarballs in dist/ and prints their paths. create-errand needs no build.

const root = fileURLToPath(new URL('../', import.meta.url))
const dist = join(root, 'dist')
for (const old of globSync('*.tgz', { cwd: dist })) rmSync(join(dist, old))
for (const path of ['dist/errand', 'dist/errand-client', 'create-errand']) {
  const folder = join(root, path)
  if (!existsSync(folder)) throw new Error(`${folder} is missing; run npm run build first.`)
  const packed = execFileSync('npm', ['pack', '--silent', '--pack-destination', dist], {
    cwd: folder,
    encoding: 'utf8',
  })
  console.log(join(dist, packed.trim()))
}
