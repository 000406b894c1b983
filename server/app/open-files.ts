import { readFileSync } from 'node:fs'

/** Max files that the process opens in addition to connections: the database, payloads, threads, connectors. */
const ownFilesMax = 1000
/**
 * Enough for normal use; `maxConnections` is only the upper bound. Old systems limit a process to 1,024 or 4,096 files,
 * which normal use can reach.
 */
const everydayFiles = 8192

/** Returns the max number of files this process can open; undefined if the system does not report it. */
export function openFilesLimit(): number | undefined {
  try {
    const [, limit] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return limit === undefined ? undefined : Number(limit)
  } catch {
    return undefined
  }
}

/**
 * Describes a limit that is too low; undefined if it is high enough. Without this warning, the limit would show only
 * under load, as unanswered connections.
 */
export function describeFewFiles(connectionsMax: number, limit = openFilesLimit()): string | undefined {
  if (limit === undefined || limit >= Math.min(connectionsMax + ownFilesMax, everydayFiles)) return undefined
  return `this process can open only ${limit} files at a time, too few for up to ${connectionsMax} connections: raise the limit (ulimit -n, or LimitNOFILE in a unit) or lower maxConnections`
}
