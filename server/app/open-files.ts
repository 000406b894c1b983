import { readFileSync } from 'node:fs'

/** Allowance for files other than connections: the database, payloads, threads and connectors. */
const ownFilesMax = 1000
/**
 * Number of open files that suffices for normal use, which rarely comes near `maxConnections`. The default limits of
 * older systems, 1,024 or 4,096, are too low.
 */
const everydayFiles = 8192

/** Returns undefined if the system does not report the limit. */
export function openFilesLimit(): number | undefined {
  try {
    const [, limit] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return limit === undefined ? undefined : Number(limit)
  } catch {
    return undefined
  }
}

/**
 * Returns a warning if the limit is too low. Without the warning, operators would notice only under load, when
 * connections get no response.
 */
export function describeFewFiles(connectionsMax: number, limit = openFilesLimit()): string | undefined {
  if (limit === undefined || limit >= Math.min(connectionsMax + ownFilesMax, everydayFiles)) return undefined
  return `this process can open only ${limit} files at a time, too few for ${connectionsMax} connections. Raise the limit (ulimit -n, or LimitNOFILE in a systemd unit) or lower maxConnections`
}
