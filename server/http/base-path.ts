/** Returns the path of a service's URL on its host, without a trailing slash; empty at the root. */
export function basePathOf(baseUrl: string | null): string {
  return baseUrl === null ? '' : new URL(baseUrl).pathname.replace(/\/$/, '')
}

/** Returns the target without the base path, which a proxy or a framework may have removed already. */
export function withoutBasePath(target: string, basePath: string): string {
  if (basePath === '' || !target.startsWith(basePath)) return target
  const rest = target.slice(basePath.length)
  if (rest === '' || rest.startsWith('?')) return `/${rest}`
  return rest.startsWith('/') ? rest : target
}
