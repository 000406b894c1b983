/** The service does not work properly until a `problem` is fixed. A `warning` may need no action. */
export type Finding = { name: string; status: 'ok' | 'warning' | 'problem'; message: string }

export type Installation = { dataDir: string; host: string; port: number; configFile: string; hasDatabaseUrl: boolean }
