/** The store could not be opened. The message is shown to the operator. */
export class StoreOpenError extends Error {
  override readonly name = 'StoreOpenError'
}

export class DataDirInUseError extends StoreOpenError {
  /** `option` names the option of the directory: that of the command line, or of `createErrand`. */
  constructor(dataDir: string, option = '--data') {
    super(
      `Another Errand server is using the data directory ${dataDir}. Stop it, or choose another directory with ${option}.`,
    )
  }
}
