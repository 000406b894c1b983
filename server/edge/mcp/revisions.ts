/** The MCP revision without a handshake. Each message states its own revision. */
export const currentRevision = '2026-07-28'
/** MCP revisions that begin with the `initialize` handshake, newest first. */
const withHandshake = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']
export const revisions: readonly string[] = [currentRevision, ...withHandshake]
/** Assumed for messages without the revision header, which a later revision introduced. */
export const revisionWithoutHeader = '2025-03-26'

/** Returns the requested revision if it has a handshake, or else the newest one that does. */
export function agreedRevision(asked: unknown): string {
  return typeof asked === 'string' && withHandshake.includes(asked) ? asked : withHandshake[0]!
}
