import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'
import { flatDeclarations } from './flat-declarations.ts'
import { packageReadmes } from './package-pages.ts'
import { repositoryFields } from './repository-fields.ts'

// Builds the publishable package `errand-client` in dist/errand-client: JavaScript for `import` and `require` with
// source maps, flat declarations, and no dependencies.

const root = new URL('../', import.meta.url)
const target = new URL('dist/errand-client/', root)
const path = (name: string) => fileURLToPath(new URL(name, root))
const write = (name: string, text: string) => writeFileSync(new URL(name, target), text)

const modules = {
  index: 'client/client.ts',
  webhooks: 'client/webhooks.ts',
  'ai-sdk': 'client/ai-sdk/ai-sdk.ts',
  react: 'client/react/react.ts',
  trpc: 'client/trpc/trpc.ts',
}

rmSync(target, { recursive: true, force: true })
mkdirSync(target, { recursive: true })
await bundle(modules, 'es')
await bundle(modules, 'cjs')
await bundle({ 'errand-client': 'client/bin/errand-client.ts' }, 'es')

for (const [name, declarations] of Object.entries(flatDeclarations(modules))) {
  // Both formats share one declaration file. If each had its own copy of an interface, a program could extend one copy
  // and use the other.
  write(`${name}.d.cts`, declarations)
  write(`${name}.d.ts`, `export * from './${name}.cjs'\n`)
}
write('package.json', `${JSON.stringify(manifest(), null, 2)}\n`)
cpSync(path('LICENSE'), new URL('LICENSE', target))
cpSync(path(packageReadmes['errand-client']), new URL('README.md', target))

async function bundle(entry: Record<string, string>, format: 'es' | 'cjs'): Promise<void> {
  const extension = format === 'es' ? 'js' : 'cjs'
  await build({
    configFile: false,
    envDir: false,
    logLevel: 'warn',
    root: path('.'),
    build: {
      outDir: fileURLToPath(target),
      emptyOutDir: false,
      target: 'es2022',
      minify: false,
      sourcemap: true,
      lib: {
        entry: Object.fromEntries(Object.entries(entry).map(([name, file]) => [name, path(file)])),
        formats: [format],
        fileName: (_, name) => `${name}.${extension}`,
      },
      rolldownOptions: {
        external: /^node:|^react\b/,
        output: {
          chunkFileNames: `shared.${extension}`,
          // React Server Components must leave these components to the browser.
          banner: ({ name }) => (name === 'react' ? "'use client'" : ''),
        },
      },
    },
    plugins: [
      {
        name: 'the command uses the package that it is in',
        enforce: 'pre',
        resolveId: (source) => (source === '../client.ts' ? { id: './index.js', external: true } : null),
      },
    ],
  })
}

function manifest() {
  const { version, license } = JSON.parse(readFileSync(path('package.json'), 'utf8')) as Record<string, string>
  const conditions = (name: string) => ({
    import: { types: `./${name}.d.ts`, default: `./${name}.js` },
    require: { types: `./${name}.d.cts`, default: `./${name}.cjs` },
  })
  return {
    name: 'errand-client',
    version,
    description:
      'The typed client of Errand, for Node, browsers and edge runtimes: run tasks, stream chats, verify webhooks.',
    keywords: ['agents', 'ai', 'client', 'errand', 'llm'],
    license,
    ...repositoryFields('client'),
    type: 'module',
    sideEffects: false,
    engines: { node: '>=20' },
    bin: { 'errand-client': 'errand-client.js' },
    main: './index.cjs',
    module: './index.js',
    types: './index.d.cts',
    exports: {
      '.': conditions('index'),
      './webhooks': conditions('webhooks'),
      './ai-sdk': conditions('ai-sdk'),
      './react': conditions('react'),
      './trpc': conditions('trpc'),
      './package.json': './package.json',
    },
    peerDependencies: { '@trpc/server': '>=11', react: '>=18' },
    peerDependenciesMeta: { '@trpc/server': { optional: true }, react: { optional: true } },
  }
}
