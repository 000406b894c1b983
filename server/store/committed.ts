/** `startedAt` comes from performance.now(). `syncMs` is the time that COMMIT waited for the disk. */
export type Committed = { commands: number; isDurable: boolean; startedAt: number; syncMs: number }
