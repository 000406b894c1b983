import { existsSync, globSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { operations } from '../../pins/documented-answers.ts'
import { temporaryFolder } from '../../support/resources.ts'
import { run } from './client/client-package.ts'
import { root } from './package/server-package.ts'

const buildMsMax = 600_000
let site = ''
let pages = new Map<string, string>()

beforeAll(async () => {
  site = temporaryFolder('docs-site')
  await run('npm', ['run', 'docs', '--', '--out', site], root, {}, buildMsMax)
  pages = new Map(globSync('**/*.html', { cwd: site }).map((file) => [file, readFileSync(join(site, file), 'utf8')]))
}, buildMsMax)

const values = (html: string, attribute: string) =>
  Array.from(html.matchAll(new RegExp(`\\s${attribute}="([^"]*)"`, 'g')), ([, value]) => value!)

test('every internal link of the built pages leads to an existing file and element', () => {
  const links = [...pages].flatMap(([page, html]) =>
    [...values(html, 'href'), ...values(html, 'src')]
      .filter((target) => !/^[a-z]+:/.test(target))
      .map((target) => ({ page, target: decodeURI(target) })),
  )
  expect(pages.size).toBeGreaterThan(50)
  expect(links.length).toBeGreaterThan(3000)
  const anchors = new Map(Array.from(pages, ([page, html]) => [page, new Set(values(html, 'id'))]))
  const broken = links.filter(({ page, target }) => {
    const [path = '', anchor] = target.split('#')
    const found = path === '' ? page : path.startsWith('/') ? path.slice(1) : posix.join(posix.dirname(page), path)
    const file = existsSync(join(site, found, 'index.html')) ? posix.join(found, 'index.html') : found
    return !existsSync(join(site, file)) || (anchor && !anchors.get(file)?.has(anchor))
  })
  expect(broken).toEqual([])
})

test('the README is the home page with the version in the menu, and search finds every page', () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  expect(pages.get('index.html')).toContain('Follow the money')
  expect(pages.get('index.html')).toContain(`v${version}`)
  const [index] = globSync('assets/chunks/@localSearchIndex*.js', { cwd: site })
  const text = readFileSync(join(site, index!), 'utf8')
  const addresses = [...pages.keys()]
    .filter((page) => page !== '404.html')
    .map((page) => page.replace(/index\.html$/, ''))
  expect(addresses.filter((address) => !text.includes(`"/${address}`))).toEqual([])
})

test('the API pages contain every operation with an example call', () => {
  const api = [...pages].filter(([page]) => page.startsWith('api/'))
  const ids = new Set(api.flatMap(([, html]) => values(html, 'id')))
  expect(operations.length).toBeGreaterThan(70)
  expect(operations.filter(({ id }) => !ids.has(id))).toEqual([])
  expect(pages.get('api/tasks.html')).toContain('POST /api/tasks/{taskId}/cancel')
})
