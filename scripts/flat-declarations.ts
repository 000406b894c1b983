import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../', import.meta.url))

/** A top-level declaration. `name` is the declared name. `text` includes the comment but not `export`. */
type Declaration = { name: string; text: string; file: string }

/**
 * Returns all declarations of each client module as one string, by module name. Joins the compiler's output for all
 * files and keeps only declarations that the module's exports refer to. The result imports only from packages and from
 * the module `index`, whose interfaces programs may extend. Throws if two files declare the same name, even if one of
 * them is not exported.
 */
export function flatDeclarations<Name extends string>(modules: Record<Name, string>): Record<Name, string> {
  const entries = Object.values<string>(modules)
  const folder = mkdtempSync(join(tmpdir(), 'errand-declarations-'))
  try {
    const options = { noEmit: false, declaration: true, emitDeclarationOnly: true, outDir: folder, rootDir: root }
    const typeRoots = [join(root, 'node_modules/@types')]
    const config = {
      extends: join(root, 'tsconfig.json'),
      compilerOptions: { ...options, typeRoots, types: [] },
      include: [],
      files: entries.map((entry) => join(root, entry)),
    }
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
    const compiler = join(root, 'node_modules/typescript/bin/tsc')
    execFileSync(process.execPath, [compiler, '-p', join(folder, 'tsconfig.json')], { stdio: 'inherit' })
    const index = 'index' in modules ? join(folder, String(modules.index)) : undefined
    const flat = Object.entries<string>(modules).map(([name, entry]) => [name, flatten(folder, entry, index)] as const)
    return Object.fromEntries(flat) as Record<Name, string>
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function flatten(folder: string, entry: string, index: string | undefined): string {
  const declarations = new Map<string, Declaration>()
  const imported = new Map<string, Set<string>>()
  const exported = new Set<string>()
  const waiting = [join(folder, entry)]
  for (const file of waiting) {
    const source = readFileSync(file.replace(/\.tsx?$/, '.d.ts'), 'utf8')
    const isEntry = file === waiting[0]
    for (const statement of statementsOf(source)) {
      const [, from] = /^(?:import|export) [^;]*?from '([^']+)';$/m.exec(statement.text) ?? []
      if (from !== undefined) {
        const path = from.startsWith('.') ? sourceOf(resolve(dirname(file), from)) : undefined
        const isElsewhere = path === undefined || (path === index && !isEntry)
        if (isElsewhere) addNames(imported, path === undefined ? from : './index.cjs', namesIn(statement.text))
        else if (!waiting.includes(path)) waiting.push(path)
      }
      if (isEntry && statement.isExported) for (const name of statement.names) exported.add(name)
      if (statement.name === undefined) continue
      const same = declarations.get(statement.name)
      const own = relative(folder, file)
      if (same && same.file !== own)
        throw new Error(`${same.file} and ${own} both declare ${statement.name}. Rename one of them.`)
      // Several declarations of a function in one file are overloads.
      const text = `${same?.text ?? ''}${statement.text}`
      declarations.set(statement.name, { name: statement.name, text, file: own })
    }
  }
  const texts = [...reached(declarations, exported)]
    .map(({ name, text }) =>
      exported.has(name) ? text.replace(/^(?:declare |type |interface )/gm, 'export $&') : text,
    )
    .map((text) => text.replace(/^ {4,}/gm, (indent) => indent.slice(indent.length / 2)))
  return [...importsOf(imported, texts.join('\n')), ...texts, 'export {}\n'].join('\n')
}

function addNames(imported: Map<string, Set<string>>, from: string, names: readonly string[]): void {
  imported.set(from, new Set([...(imported.get(from) ?? []), ...names]))
}

function sourceOf(path: string): string {
  return path.replace(/\.js(x?)$/, '.ts$1')
}

/** Returns an import statement for each module specifier of which the text uses a name. */
function importsOf(imported: ReadonlyMap<string, ReadonlySet<string>>, text: string): string[] {
  return [...imported].flatMap(([from, names]) => {
    const used = [...names].filter((name) => new RegExp(`\\b${name}\\b`).test(text)).toSorted()
    return used.length > 0 ? [`import type { ${used.join(', ')} } from '${from}'\n`] : []
  })
}

/** `name` is the declared name, and `names` are the exported names. */
type Statement = { name: string | undefined; names: string[]; text: string; isExported: boolean }

/**
 * Splits the compiler's output into statements. Each statement starts on a new line and ends before the next statement
 * or its comment.
 */
function statementsOf(source: string): Statement[] {
  const statements: string[] = []
  let comment = ''
  let isInComment = false
  for (const line of source.split('\n')) {
    if (line.startsWith('/**')) isInComment = true
    if (isInComment) {
      comment += `${line}\n`
      if (line.endsWith('*/')) isInComment = false
    } else if (/^(?:import|export|declare|type|interface)\b/.test(line)) {
      statements.push(`${comment}${line}\n`)
      comment = ''
    } else if (line !== '' && !line.startsWith('//') && statements.length > 0) {
      statements[statements.length - 1] += `${line}\n`
    }
  }
  return statements.map((statement) => {
    const [, name] =
      /^(?:export )?(?:declare )?(?:type|interface|class|function|const) (\w+)\b(?! from)/m.exec(statement) ?? []
    return {
      name,
      names: name === undefined ? namesIn(statement) : [name],
      isExported: /^export /m.test(statement),
      text: statement.replace(/^export (?=declare|type \w|interface)/m, ''),
    }
  })
}

function namesIn(text: string): string[] {
  const [, list = ''] = /\{([^}]*)\}/.exec(text) ?? []
  return list.split(',').flatMap((item) => /(\w+)\s*$/.exec(item.trim())?.[1] ?? [])
}

/** Returns the exports and everything that they refer to, in the order of the file. */
function reached(declarations: ReadonlyMap<string, Declaration>, exported: ReadonlySet<string>): Set<Declaration> {
  const found = new Set<Declaration>()
  const waiting = [...exported]
  for (const name of waiting) {
    const declaration = declarations.get(name)
    if (!declaration || found.has(declaration)) continue
    found.add(declaration)
    const code = declaration.text.replace(/\/\*\*[^]*?\*\//g, '')
    waiting.push(...(code.match(/[A-Za-z_]\w*/g) ?? []).filter((word) => declarations.has(word)))
  }
  return new Set([...declarations.values()].filter((declaration) => found.has(declaration)))
}
