import { packageOf } from './bundle-packages.ts'
import { repositoryFields } from './repository-fields.ts'

/** Fields of the repository's package.json that the published package.json also needs. */
export type RootManifest = {
  version: string
  description: string
  license: string
  engines: { node: string }
  dependencies: Record<string, string>
}

/** The modules that programs can import, without file extensions. */
export const exported = {
  '.': 'server/app/package-entry',
  './adapters/ai-sdk': 'server/agents/adapters/ai-sdk-reply',
  './adapters/claude-agent': 'server/agents/adapters/claude-agent-reply',
  './adapters/langgraph': 'server/agents/adapters/langgraph-reply',
  './adapters/mastra': 'server/agents/adapters/mastra-reply',
  './adapters/openai-agents': 'server/agents/adapters/openai-agents-reply',
  './testing': 'server/testing/testing',
}

const typesBelow = Object.entries(exported)
  .filter(([name]) => name !== '.')
  .map(([name, module]) => [name.slice('./'.length), [`./${module}.d.cts`]])

/**
 * Returns the published package.json, which pins the versions of all packages that are actually imported. `needed`
 * contains the import specifiers of the published modules.
 */
export function serverManifest(root: RootManifest, needed: readonly string[]): object {
  const { description, engines, license, version } = root
  const names = [...new Set(needed.map(packageOf))].filter((name) => name !== 'errand').toSorted()
  const dependencies = Object.fromEntries(names.map((name) => [name, pinned(root, name)]))
  return {
    name: 'errand',
    version,
    description,
    keywords: ['agents', 'ai', 'billing', 'llm', 'mcp', 'tasks'],
    license,
    ...repositoryFields(),
    type: 'module',
    bin: { errand: 'server/errand.cjs' },
    // For tools that ignore `exports`.
    main: `./${exported['.']}.cjs`,
    types: `./${exported['.']}.d.cts`,
    typesVersions: { '*': Object.fromEntries(typesBelow) },
    exports: {
      ...Object.fromEntries(Object.entries(exported).map(([name, module]) => [name, conditions(module)])),
      './package.json': './package.json',
    },
    engines,
    dependencies,
  }
}

function conditions(module: string): object {
  return {
    import: { types: `./${module}.d.ts`, default: `./${module}.js` },
    require: { types: `./${module}.d.cts`, default: `./${module}.cjs` },
  }
}

function pinned({ dependencies }: RootManifest, name: string): string {
  const version = dependencies[name]
  if (version === undefined)
    throw new Error(`The server imports ${name}, which is not a dependency. Add it to dependencies in package.json.`)
  return version
}
