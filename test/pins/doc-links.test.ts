import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { isPackaged, packagedPage, packageReadmes } from '../../scripts/package-pages.ts'
import { brokenLinks, linksOf } from './read-links.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const left = new Set([
  'node_modules',
  '.setup-node',
  '.errand',
  'dist',
  'documents',
  'swagger-ui',
  '.git',
  '.output',
  'operations',
])
const exclude = (path: string) => left.has(basename(path))
const has = (path: string) => existsSync(join(root, path))
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const files = globSync('**/*.md', { cwd: root, exclude })

test('every relative link of a page leads to an existing file and heading', () => {
  // Checks a package's README at its path in the package.
  const pages = new Map(files.filter((file) => file !== packageReadmes.errand).map((file) => [file, read(file)]))
  expect(pages.size).toBeGreaterThan(35)
  expect([...pages].flatMap(([file, text]) => linksOf(file, text)).length).toBeGreaterThan(150)
  expect(brokenLinks({ pages, has })).toEqual([])
})

test('every relative link in the two packages resolves, and none leads outside its package', () => {
  const docs = files.filter(isPackaged)
  expect(docs.length).toBeGreaterThan(20)
  const server = new Map(docs.map((file) => [file, packagedPage(file, read(file))]))
  server.set('README.md', read(packageReadmes.errand))
  expect(brokenLinks({ pages: server, has: (path) => isPackaged(path) && has(path) })).toEqual([])
  const client = new Map([['README.md', read(packageReadmes['errand-client'])]])
  expect(brokenLinks({ pages: client, has: (path) => path === 'LICENSE' })).toEqual([])
})

test('replaces links to files outside a package with text, and keeps code and other links', () => {
  const page = (link: string) => `See [the guide](${link}).\n\n\`\`\`ts\nreaders[0](../x)\n\`\`\`\n`
  const text = (link: string) => packagedPage('docs/guides/agents.md', page(link))
  expect(text('../../examples/product/README.md#run')).toBe(page('X').replace('[the guide](X)', 'the guide'))
  for (const link of ['limits.md#plans', '#tasks', 'https://example.com/a', '../../CHANGELOG.md'])
    expect(text(link)).toBe(page(link))
})

test('every page of docs/ is in its index', () => {
  const index = new Set(
    linksOf('docs/README.md', read('docs/README.md')).map(({ target }) => posix.join('docs', target)),
  )
  const pages = files.filter((file) => file.startsWith('docs/') && file !== 'docs/README.md')
  expect(pages.length).toBeGreaterThan(10)
  expect(pages.filter((page) => !index.has(page))).toEqual([])
})

test('every docs page named in code exists', () => {
  const code = globSync('{server,client,openapi,console,bench,examples,test,scripts,site}/**/*.{ts,tsx,mjs}', {
    cwd: root,
    exclude,
  })
  const named = code.flatMap((file) =>
    Array.from(read(file).matchAll(/\bdocs\/[\w/-]+\.md\b/g), ([page]) => ({ file, page })),
  )
  expect(named.length).toBeGreaterThan(3)
  expect(named.filter(({ page }) => !has(page))).toEqual([])
})
