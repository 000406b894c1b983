import { wrapLanguageModel } from 'ai'
import { expect, test } from 'vitest'
import { FallbackModels } from '../../server/agents/model/fallback-models.ts'

const about = { specificationVersion: 'v3', provider: 'stub' }
const begins = { stream: new ReadableStream({ start: (controller) => controller.close() }) }

type DoStream = (options: { abortSignal?: AbortSignal }) => Promise<unknown>

function models(parts: { isStopped?: () => boolean }, ...doStream: DoStream[]) {
  const [model, ...others] = doStream.map((stream, at) => ({
    ...about,
    modelId: `model-${at}`,
    doStream: stream,
    doGenerate: () => Promise.reject(new Error('unused')),
  }))
  const seen: [number, boolean][] = []
  const agent = { kind: 'model', id: 'a', name: 'A', model: model!, fallbacks: others.map((one) => ({ model: one })) }
  const called = new FallbackModels(agent as never, {
    wrap: wrapLanguageModel,
    ...parts,
    beginMsMax: 5,
    log: () => {},
    onModel: (...args) => seen.push(args),
  }).model
  return {
    seen,
    stream: (abortSignal?: AbortSignal) =>
      (called.doStream as (options: object) => PromiseLike<unknown>)({ prompt: [], abortSignal }),
  }
}

test('a model that does not begin in time is aborted and replaced, and the last one may take its time', async () => {
  let isAborted = false
  const { seen, stream } = models(
    {},
    ({ abortSignal }) => {
      abortSignal!.addEventListener('abort', () => (isAborted = true))
      return new Promise(() => {})
    },
    async () => {
      await new Promise((resolve) => setTimeout(resolve, 30))
      return begins
    },
  )
  await stream()
  expect(isAborted).toBe(true)
  expect(seen).toEqual([
    [1, false],
    [1, true],
  ])
})

test('a stopped reply is not sent to another model', async () => {
  const stop = new AbortController()
  const { seen, stream } = models(
    {},
    ({ abortSignal }) =>
      new Promise((_, reject) => abortSignal!.addEventListener('abort', () => reject(abortSignal!.reason as Error))),
    () => Promise.resolve(begins),
  )
  const streamed = stream(stop.signal)
  stop.abort(new Error('stopped'))
  await expect(streamed).rejects.toThrow('stopped')
  expect(seen).toEqual([])
})

test('a reply that was stopped before its model answered is not sent to another one', async () => {
  const late = () => new Promise<unknown>(() => {})
  const { seen, stream } = models({ isStopped: () => true }, late, () => Promise.resolve(begins))
  await expect(stream()).rejects.toThrow('did not start to respond')
  expect(seen).toEqual([])
})

test('an error of this program is not taken for one of the provider', async () => {
  const { seen, stream } = models(
    {},
    () => Promise.reject(new TypeError('undefined is not a function')),
    () => Promise.resolve(begins),
  )
  await expect(stream()).rejects.toThrow('undefined is not a function')
  expect(seen).toEqual([])
})
