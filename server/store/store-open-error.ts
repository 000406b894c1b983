/** Why the store could not be opened. The message is for the operator. */
export class StoreOpenError extends Error {
  override readonly name = 'StoreOpenError'
}
