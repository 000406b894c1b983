import { ErrandClientError } from '../../client/client.ts'

/** Returns the ErrandClientError with which the call must fail. Throws anything else. */
export async function rejection(call: Promise<unknown>): Promise<ErrandClientError> {
  const outcome = await call.then(
    () => new Error('the call succeeded'),
    (thrown: unknown) => thrown,
  )
  if (outcome instanceof ErrandClientError) return outcome
  throw outcome
}

/** Does the same for concurrent calls. */
export function rejections(calls: readonly Promise<unknown>[]): Promise<ErrandClientError[]> {
  return Promise.all(calls.map(rejection))
}
