import { ErrandClientError } from '../../client/client.ts'

/** The error that a call must fail with; anything else is thrown. */
export async function rejection(call: Promise<unknown>): Promise<ErrandClientError> {
  const outcome = await call.then(
    () => new Error('the call succeeded'),
    (thrown: unknown) => thrown,
  )
  if (outcome instanceof ErrandClientError) return outcome
  throw outcome
}

/** The same for concurrent calls. */
export function rejections(calls: readonly Promise<unknown>[]): Promise<ErrandClientError[]> {
  return Promise.all(calls.map(rejection))
}
