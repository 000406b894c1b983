import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))
const left = new Set(['node_modules', '.setup-node', '.errand', 'dist', 'documents', 'swagger-ui', '.git', '.output'])
const exclude = (path: string) => left.has(basename(path))
const files = globSync('**/*.md', { cwd: root, exclude })

type Link = { file: string; target: string }

function withoutCode(text: string): string {
  return text.replaceAll(/^```[\s\S]*?^```/gm, '')
}

function linksOf(file: string): Link[] {
  const targets = withoutCode(readFileSync(join(root, file), 'utf8')).matchAll(/\]\(([^)\s]+)\)/g)
  return Array.from(targets, ([, target]) => ({ file, target: target! })).filter(
    ({ target }) => !/^[a-z]+:/.test(target),
  )
}

/** The page's anchors, as GitHub derives them from headings. */
function anchorsOf(path: string): string[] {
  const headings = withoutCode(readFileSync(path, 'utf8')).matchAll(/^#+ (.+)$/gm)
  return Array.from(headings, ([, heading]) =>
    heading!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

function isBroken({ file, target }: Link): boolean {
  const [path = '', anchor] = target.split('#')
  const found = path === '' ? join(root, file) : resolve(root, dirname(file), path)
  if (!existsSync(found)) return true
  return anchor !== undefined && !(statSync(found).isFile() && anchorsOf(found).includes(anchor))
}

test('every relative link of a page leads to a file, and to a heading of it', () => {
  const links = files.flatMap(linksOf)
  expect(files.length).toBeGreaterThan(15)
  expect(links.length).toBeGreaterThan(50)
  expect(links.filter(isBroken)).toEqual([])
})

test('every page of docs/ is in its index', () => {
  const index = new Set(linksOf('docs/README.md').map(({ target }) => relative(root, resolve(root, 'docs', target))))
  const pages = files.filter((file) => file.startsWith('docs/') && file !== 'docs/README.md')
  expect(pages.length).toBeGreaterThan(10)
  expect(pages.filter((page) => !index.has(page))).toEqual([])
})

test('every page that code names is there', () => {
  const code = globSync('{server,client,openapi,console,bench,examples,test,scripts}/**/*.{ts,tsx,mjs}', {
    cwd: root,
    exclude,
  })
  const named = code.flatMap((file) =>
    Array.from(readFileSync(join(root, file), 'utf8').matchAll(/\bdocs\/[\w/-]+\.md\b/g), ([page]) => ({ file, page })),
  )
  expect(named.length).toBeGreaterThan(3)
  expect(named.filter(({ page }) => !existsSync(join(root, page)))).toEqual([])
})
