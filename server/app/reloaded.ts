/** Result of a reload. `needsRestart` lists the changed parts of the configuration that a reload does not apply. */
export type Reloaded = { agents: string[]; needsRestart: string[] }
