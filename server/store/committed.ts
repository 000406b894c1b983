/** A transaction that was tried. `startedAt` is of performance.now(); `syncMs` is the time of the COMMIT itself, which is the disk's. */
export type Committed = { commands: number; isDurable: boolean; startedAt: number; syncMs: number }
