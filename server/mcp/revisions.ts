/** The revision without a handshake: each message says of which it is. */
export const currentRevision = '2026-07-28'
/** Those that begin with `initialize`, the newest first. */
const withHandshake = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']
export const revisions: readonly string[] = [currentRevision, ...withHandshake]
/** Of a message without the header of it, which came later. */
export const revisionWithoutHeader = '2025-03-26'

/** What is agreed on with a client that asks for a revision: the newest of ours, where it is none of them. */
export function agreedRevision(asked: unknown): string {
  return typeof asked === 'string' && withHandshake.includes(asked) ? asked : withHandshake[0]!
}
