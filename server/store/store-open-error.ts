/** The store could not be opened. The message is shown to the operator. */
export class StoreOpenError extends Error {
  override readonly name = 'StoreOpenError'
}
