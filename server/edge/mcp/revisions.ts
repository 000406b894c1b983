/** The revision without a handshake: each message names its own. */
export const currentRevision = '2026-07-28'
/** Revisions that begin with `initialize`, newest first. */
const withHandshake = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']
export const revisions: readonly string[] = [currentRevision, ...withHandshake]
/** Assumed for a message without the revision header, which was introduced after this revision. */
export const revisionWithoutHeader = '2025-03-26'

/**
 * Returns the requested revision if it is supported and has a handshake. Otherwise returns the newest with a handshake.
 */
export function agreedRevision(asked: unknown): string {
  return typeof asked === 'string' && withHandshake.includes(asked) ? asked : withHandshake[0]!
}
