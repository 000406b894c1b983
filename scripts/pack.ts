import { execFileSync } from 'node:child_process'
import { existsSync, rmSync, globSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

// Packs dist/errand and dist/errand-client into tarballs in dist/, and prints their paths.

const dist = fileURLToPath(new URL('../dist/', import.meta.url))
for (const old of globSync('*.tgz', { cwd: dist })) rmSync(join(dist, old))
for (const name of ['errand', 'errand-client']) {
  const folder = join(dist, name)
  if (!existsSync(folder)) throw new Error(`${folder} is missing; run npm run build first.`)
  const packed = execFileSync('npm', ['pack', '--silent', '--pack-destination', dist], {
    cwd: folder,
    encoding: 'utf8',
  })
  console.log(join(dist, packed.trim()))
}
