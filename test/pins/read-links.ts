import { posix } from 'node:path'
import { githubAnchor } from '../../site/github-anchor.ts'

type Link = { page: string; target: string }
type Folder = {
  /** The text of each page, by its path. */
  pages: ReadonlyMap<string, string>
  /** Whether a file or folder exists. */
  has: (path: string) => boolean
}

/** Returns a page's links to other pages, files and headings, in Markdown and in HTML. */
export function linksOf(page: string, text: string): Link[] {
  const inline = /\]\(\s*<?([^)\s>]+)/g
  const reference = /^ {0,3}\[[^\]]+\]:\s*<?([^\s>]+)/gm
  const attribute = /<(?:a|img)\b[^>]*\s(?:href|src)="([^"]*)"/g
  const prose = withoutFences(text).replaceAll(/(`+)(?!`).*?[^`]\1(?!`)/g, '`code`')
  return [inline, reference, attribute]
    .flatMap((form) => Array.from(prose.matchAll(form), ([, target]) => ({ page, target: target! })))
    .filter(({ target }) => !/^[a-z]+:/.test(target))
}

/** Links that lead out of the folder, to a file that is not there, or to a heading that its page does not have. */
export function brokenLinks({ has, pages }: Folder): Link[] {
  const anchors = new Map(Array.from(pages, ([page, text]) => [page, anchorsOf(text)]))
  return Array.from(pages, ([page, text]) => linksOf(page, text))
    .flat()
    .filter(({ page, target }) => {
      const [path = '', anchor] = target.split('#')
      const found = path === '' ? page : posix.join(posix.dirname(page), path)
      if (path.startsWith('/') || found.startsWith('..') || !has(found)) return true
      return anchor !== undefined && !anchors.get(found)?.has(anchor)
    })
}

/** Returns the anchors that GitHub derives from headings: a repeated heading gets the suffix `-1`. */
function anchorsOf(text: string): Set<string> {
  const counts = new Map<string, number>()
  const anchors = Array.from(withoutFences(text).matchAll(/^#{1,6} (.+)$/gm), ([, heading]) => {
    const anchor = githubAnchor(heading!.replaceAll(/\[([^\]]+)\]\([^)]*\)/g, '$1'))
    const count = counts.get(anchor) ?? 0
    counts.set(anchor, count + 1)
    return count === 0 ? anchor : `${anchor}-${count}`
  })
  return new Set(anchors)
}

function withoutFences(text: string): string {
  return text.replaceAll(/^ *```[\s\S]*?^ *```$/gm, '')
}
