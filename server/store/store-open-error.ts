/** Why a store cannot be opened; the message is for the operator. */
export class StoreOpenError extends Error {
  override readonly name = 'StoreOpenError'
}
