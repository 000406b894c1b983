/** An answer with the head of the HTTP answer that it came in, which reads of one moment share. */
export type WithResponse<T> = {
  data: T
  status: number
  headers: Headers
  /** The X-Request-Id, to quote in a report. */
  requestId: string | undefined
}

/** The promise of an answer, and on demand of what came with it. */
export type CallPromise<T> = Promise<T> & {
  /**
   * The answer with its status and headers.
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
    // Who asks for the whole gets its failure there.
    promise.catch(() => {})
    return answer
  }
  return Object.assign(promise, { withResponse })
}
