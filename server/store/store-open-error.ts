/** Thrown if the store cannot be opened. The message is for the operator. */
export class StoreOpenError extends Error {
  override readonly name = 'StoreOpenError'
}
