/** `problem`: something must be done before this serves well. `warning`: something may be worth doing. */
export type Finding = { name: string; status: 'ok' | 'warning' | 'problem'; message: string }

export type Installation = { dataDir: string; host: string; port: number; configFile: string; hasDatabaseUrl: boolean }
