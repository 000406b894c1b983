import { spawnSync } from 'node:child_process'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'

type RepositoryFields = {
  repository?: { type: 'git'; url: string; directory?: string }
  homepage?: string
  bugs?: string
}

/** An https or ssh URL of a repository. Captures its host and path. */
const address = /^(?:https:\/\/(?:[^@/]+@)?|ssh:\/\/git@|git@)([\w.-]+)(?::\d+\/|[/:])([\w.~-]+(?:\/[\w.~-]+)+)$/

/**
 * Returns the package.json fields that name the repository, according to the clone's remote `origin`. npm accepts
 * provenance only if they match the workflow's repository. Empty if `origin` has no https or ssh URL.
 */
export function repositoryFields(directory?: string): RepositoryFields {
  const root = fileURLToPath(new URL('../', import.meta.url))
  const { stdout } = spawnSync('git', ['remote', 'get-url', 'origin'], { cwd: root, encoding: 'utf8' })
  return fieldsOf(stdout.trim(), directory)
}

export function fieldsOf(remote: string, directory?: string): RepositoryFields {
  const [, host, path] = address.exec(remote.replace(/(?:\.git)?\/?$/, '')) ?? []
  if (host === undefined || path === undefined) return {}
  const url = `https://${posix.join(host, path)}`
  return {
    repository: { type: 'git', url: `git+${url}.git`, ...(directory !== undefined && { directory }) },
    homepage: `${url}#readme`,
    bugs: `${url}/issues`,
  }
}
