import { readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { build } from 'vite'

type Parts = { root: string; out: string; exported: string }

/**
 * Adds the exported module as CommonJS with separate declarations, because TypeScript treats declarations of an ES
 * module as ESM.
 */
export async function addCommonJs({ root, out, exported }: Parts): Promise<void> {
  await build({
    root,
    configFile: false,
    logLevel: 'warn',
    publicDir: false,
    build: {
      target: 'node22',
      outDir: dirname(join(out, exported)),
      emptyOutDir: false,
      minify: false,
      lib: { entry: join(root, `${exported}.ts`), formats: ['cjs'], fileName: () => `${basename(exported)}.cjs` },
    },
  })
  copyDeclaration(join(out, `${exported}.d.ts`))
}

function copyDeclaration(file: string): void {
  const text = readFileSync(file, 'utf8').replace(/from '(\.[^']+)\.ts'/g, (_all, path: string) => {
    copyDeclaration(join(dirname(file), `${path}.d.ts`))
    return `from '${path}.cjs'`
  })
  writeFileSync(file.replace(/\.d\.ts$/, '.d.cts'), text)
}
