import { posix } from 'node:path'

/** Files and folders of the checkout that the package `errand` contains at the same path. */
export const packagedPaths: readonly string[] = [
  'LICENSE',
  'CHANGELOG.md',
  'console/dist',
  'deploy',
  'docs/guides',
  'docs/reference',
  'examples/quickstart/documents',
  'openapi/openapi.json',
  'openapi/swagger-ui',
  'server/errand.cjs',
  'server/store/postgres/migrations',
  'server/store/sqlite/migrations',
]

export const packageReadmes = { errand: 'scripts/package-readme.md', 'errand-client': 'client/README.md' }

export function isPackaged(file: string): boolean {
  return packagedPaths.some((path) => file === path || file.startsWith(`${path}/`))
}

/**
 * Returns a page for the package. Replaces each link to a file that the package does not contain with the link's label.
 */
export function packagedPage(page: string, text: string): string {
  const unlinked = (link: string, label: string, target: string) =>
    /^[a-z]+:/.test(target) || isPackaged(posix.join(posix.dirname(page), target)) ? link : label
  return text
    .split(/(^```[\s\S]*?^```)/m)
    .map((part) => (part.startsWith('```') ? part : part.replaceAll(/\[([^\]]+)\]\(([^)#\s]+)[^)\s]*\)/g, unlinked)))
    .join('')
}
