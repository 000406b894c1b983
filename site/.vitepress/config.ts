import { cpSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { githubAnchor } from '../github-anchor.ts'
import { sidebar, sitePath } from '../sidebar.ts'

/** The parts of markdown-it that this file uses. Its own types are not installed with the service. */
type Token = { type: string; attrs: [name: string, value: string][] | null; children: Token[] | null }
type Page = { path: string; realPath?: string }
type MarkdownIt = {
  core: { ruler: { push(name: string, rule: (state: { tokens: Token[]; env: Page }) => void): void } }
}

const root = fileURLToPath(new URL('../../', import.meta.url))
const { description, version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Record<string, string>

/** Files that pages link to although they are not pages, by their path on the site. */
const linkedFiles = new Map<string, string>([['openapi/openapi.json', join(root, 'openapi/openapi.json')]])

// The pages are the repository's Markdown files at their own paths, so links between pages also work on the site.
export default {
  title: 'Errand',
  description,
  srcDir: root,
  outDir: join(root, 'dist/docs'),
  cacheDir: join(root, 'site/node_modules/.cache'),
  srcExclude: ['{bench,client,console,deploy,openapi,scripts,server,test}/**', 'examples/{quickstart,starter}/**'],
  rewrites: sitePath,
  // The development server serves any file below its root. The root may contain the keys of a quickstart.
  vite: {
    build: { chunkSizeWarningLimit: 2000 },
    server: { fs: { deny: ['.env*', '*.pem', '**/.git/**', '**/.errand/**'] } },
  },
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  markdown: { anchor: { slugify: githubAnchor }, config: leadLinks },
  themeConfig: {
    search: { provider: 'local' },
    nav: [
      { text: 'Docs', link: '/docs/index.md' },
      { text: 'API', link: '/api/index.md' },
      { text: `v${version}`, link: '/CHANGELOG.md' },
    ],
    sidebar: sidebar(),
    outline: [2, 3],
  },
  buildEnd({ outDir }: { outDir: string }) {
    for (const [path, file] of linkedFiles) {
      mkdirSync(dirname(join(outDir, path)), { recursive: true })
      cpSync(file, join(outDir, path))
    }
  },
}

function leadLinks(markdown: MarkdownIt): void {
  markdown.core.ruler.push('repository-links', ({ env, tokens }) => {
    const folder = dirname(env.realPath ?? env.path)
    for (const { attrs } of tokens
      .flatMap(({ children }) => children ?? [])
      .filter(({ type }) => type === 'link_open')) {
      const href = attrs!.find(([name]) => name === 'href')!
      href[1] = siteTarget(folder, href[1])
    }
  })
}

function siteTarget(folder: string, target: string): string {
  if (/^(?:[a-z]+:|#|\/)/.test(target)) return target
  const [path = '', anchor] = target.split('#')
  const file = join(folder, path)
  const hash = anchor === undefined ? '' : `#${anchor}`
  if (path.endsWith('.md')) return `${sitePath(path)}${hash}`
  if (existsSync(join(file, 'README.md'))) return `${path.replace(/\/$/, '')}/index.md${hash}`
  // Browsers display .txt files, but would download most source files.
  const suffix = path.endsWith('.json') ? '' : '.txt'
  linkedFiles.set(`${file.slice(root.length)}${suffix}`, file)
  return `${path}${suffix}`
}
