import { readFileSync } from 'node:fs'

/** Besides connections: the database, payloads, threads, connectors. */
const ownFilesMax = 1000
/** The limit of old systems is 1,024 or 4,096, which everyday use may reach; `maxConnections` is only what is let in at most. */
const everydayFiles = 8192

/** How many files this process may have open at a time; undefined where the system does not say. */
export function openFilesLimit(): number | undefined {
  try {
    const [, limit] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return limit === undefined ? undefined : Number(limit)
  } catch {
    return undefined
  }
}

/** What would show under load only, as connections that nobody answers; undefined when the limit is high enough. */
export function describeFewFiles(connectionsMax: number, limit = openFilesLimit()): string | undefined {
  if (limit === undefined || limit >= Math.min(connectionsMax + ownFilesMax, everydayFiles)) return undefined
  return `this process may open ${limit} files at a time, which is few for up to ${connectionsMax} connections: raise it (ulimit -n, or LimitNOFILE in a unit), or lower maxConnections`
}
