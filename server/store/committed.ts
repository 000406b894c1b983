/**
 * Result of an attempted transaction. `startedAt` is a performance.now() time. `syncMs` is how long the COMMIT waited
 * for the disk.
 */
export type Committed = { commands: number; isDurable: boolean; startedAt: number; syncMs: number }
