/** A result with the status and headers of its HTTP response. Reads made in the same tick share one response. */
export type WithResponse<T> = {
  data: T
  status: number
  headers: Headers
  /** The X-Request-Id. Include it in bug reports. */
  requestId: string | undefined
}

/** A promise of the result. Call `withResponse` to get the HTTP response as well. */
export type CallPromise<T> = Promise<T> & {
  /**
   * Resolves with the result and the response's status and headers.
   *
   * @example
   * const { data, headers } = await client.tasks.create(input).withResponse()
   * console.log(data.taskId, headers.get('X-RateLimit-Remaining'))
   */
  withResponse: () => Promise<WithResponse<T>>
}

export function toCallPromise<T>(answer: Promise<WithResponse<T>>): CallPromise<T> {
  const promise = answer.then(({ data }) => data)
  const withResponse = () => {
    // The caller handles the rejection of `answer`. Without this handler, Node would report an unhandled rejection of
    // `promise`.
    promise.catch(() => {})
    return answer
  }
  return Object.assign(promise, { withResponse })
}
