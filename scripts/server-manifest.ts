import { packageOf } from './bundle-packages.ts'

/** The fields of the repository's package.json that the published one uses. */
export type RootManifest = {
  version: string
  description: string
  license: string
  engines: { node: string }
  dependencies: Record<string, string>
}

type Parts = {
  root: RootManifest
  /** Import specifiers of the published modules. */
  needed: readonly string[]
  /** The module behind `import … from 'errand'`, without its extension. */
  exported: string
}

/** Returns the published package.json, with pinned versions of the packages that are really imported. */
export function serverManifest({ root, needed, exported }: Parts): object {
  const { description, engines, license, version } = root
  const names = [...new Set(needed.map(packageOf))].filter((name) => name !== 'errand').toSorted()
  const dependencies = Object.fromEntries(names.map((name) => [name, pinned(root, name)]))
  return {
    name: 'errand',
    version,
    description,
    keywords: ['agents', 'ai', 'billing', 'llm', 'mcp', 'tasks'],
    license,
    type: 'module',
    bin: { errand: 'server/errand.cjs' },
    // For tools that do not read `exports`.
    main: `./${exported}.cjs`,
    types: `./${exported}.d.cts`,
    exports: {
      '.': {
        import: { types: `./${exported}.d.ts`, default: `./${exported}.js` },
        require: { types: `./${exported}.d.cts`, default: `./${exported}.cjs` },
      },
      './package.json': './package.json',
    },
    engines,
    dependencies,
  }
}

function pinned({ dependencies }: RootManifest, name: string): string {
  const version = dependencies[name]
  if (version === undefined) throw new Error(`The server imports ${name}, which is not among the dependencies.`)
  return version
}
