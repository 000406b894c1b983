import { readFileSync } from 'node:fs'

/**
 * Maximum files that the process opens in addition to connections, for the database, payloads, threads and connectors.
 */
const ownFilesMax = 1000
/**
 * Enough for normal use, which rarely comes near `maxConnections`. The default limit of older systems, 1,024 or 4,096
 * files, is not enough.
 */
const everydayFiles = 8192

/** Returns the maximum number of files that this process can open, or undefined if the system does not report it. */
export function openFilesLimit(): number | undefined {
  try {
    const [, limit] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return limit === undefined ? undefined : Number(limit)
  } catch {
    return undefined
  }
}

/**
 * Returns a warning if the limit is too low, or undefined if it is high enough. Without the warning, the problem would
 * appear only under load, as connections without a response.
 */
export function describeFewFiles(connectionsMax: number, limit = openFilesLimit()): string | undefined {
  if (limit === undefined || limit >= Math.min(connectionsMax + ownFilesMax, everydayFiles)) return undefined
  return `this process can open only ${limit} files at a time, too few for ${connectionsMax} connections. Raise the limit (ulimit -n, or LimitNOFILE in a unit) or lower maxConnections`
}
