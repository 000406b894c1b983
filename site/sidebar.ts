import { readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { githubAnchor } from './github-anchor.ts'

type Item = { text: string; link: string }
type Group = { text: string; collapsed: boolean; items: Item[] }

const root = fileURLToPath(new URL('../', import.meta.url))
const read = (page: string) => readFileSync(posix.join(root, page), 'utf8')

/** Path of a Markdown file on the site. */
export function sitePath(file: string): string {
  return file.replace(/README\.md$/, 'index.md').replace('site/operations/', 'api/')
}

/** Returns the groups of docs/README.md with the pages that their tables link to, then the API's operations. */
export function sidebar(): Group[] {
  const [, ...sections] = read('docs/README.md').split(/^## /m)
  const groups = sections.map((section) => ({
    text: /^\w+/.exec(section)![0],
    collapsed: false,
    items: Array.from(section.matchAll(/\]\(([^)#]+\.md)\)/g), ([, target]) => item(posix.join('docs', target!))),
  }))
  const { tags } = JSON.parse(read('openapi/openapi.json')) as { tags: { name: string }[] }
  const operations = ['README', ...tags.map(({ name }) => githubAnchor(name)), 'schemas'].map((name) =>
    item(`site/operations/${name}.md`),
  )
  const about = ['CHANGELOG.md', 'SECURITY.md'].map(item)
  return [
    ...groups,
    { text: 'Operations', collapsed: true, items: operations },
    { text: 'About', collapsed: false, items: about },
  ]
}

function item(page: string): Item {
  return { text: /^# (.+)$/m.exec(read(page))![1]!, link: `/${sitePath(page)}` }
}
