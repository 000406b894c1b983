/** The message is shown to the operator. */
export class StoreOpenError extends Error {
  override readonly name = 'StoreOpenError'
}

export class DataDirInUseError extends StoreOpenError {
  /** `option` names the command-line or `createErrand` option that sets the data directory. */
  constructor(dataDir: string, option = '--data') {
    super(
      `Another Errand server is using the data directory ${dataDir}. Stop it, or choose another directory with ${option}.`,
    )
  }
}
