/** An attempted transaction. `startedAt` is from performance.now(); `syncMs` is the duration of the COMMIT itself, spent on the disk. */
export type Committed = { commands: number; isDurable: boolean; startedAt: number; syncMs: number }
