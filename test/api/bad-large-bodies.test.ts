import { expect, test } from 'vitest'
import { expectErrorBody, expectRefused, expectRpcRefused, RawConnection, shareService } from '../support/raw-http.ts'

const guarded = shareService()
const valuesMax = 250_000
const largest = 10 * 1024 * 1024

/** A body that the service counts as that many values: its commas and openings outside of strings, and itself. */
function taskOf(values: number): { endpointId: string; params: object } {
  return { endpointId: 'test.free', params: { items: Array.from({ length: values - 5 }, () => 0), end: '"[,{\\' } }
}

test('a body of 250,000 values is taken, and one more is refused over REST and RPC', async () => {
  const { person, service } = guarded
  const expected = { status: 400, field: '', message: /more than 250000 values/ }
  const over = taskOf(valuesMax + 1)
  await expectRefused(guarded, expected, () => service.post('/api/tasks', over, { key: person.key }))
  await expectRpcRefused(guarded, expected, () =>
    service.post('/trpc/tasks.create', { json: over }, { key: person.key }),
  )
  const { key } = await service.createPerson()
  const taken = await service.post('/api/tasks', taskOf(valuesMax), { key })
  expect(taken.status, JSON.stringify(taken.body).slice(0, 200)).toBe(200)
})

test('a long text is one value, whatever stands in it', async () => {
  const { service } = guarded
  const { key } = await service.createPerson()
  const text = ',[{"\\'.repeat(200_000)
  const answer = await service.post('/api/tasks', { endpointId: 'test.free', params: { text } }, { key })
  expect(answer.status).toBe(200)
})

test('bodies of 64 MB together are under way at most; the next large one waits, a small one does not', async () => {
  const { person, service } = guarded
  const head = (bytes: number) =>
    ['POST /api/tasks HTTP/1.1', 'Host: test', `Authorization: Bearer ${person.key}`, 'Content-Type: application/json']
      .concat(`Content-Length: ${bytes}`, '', '')
      .join('\r\n')
  const body = JSON.stringify({ endpointId: 'test.free', params: {} })
  const uploads: RawConnection[] = []
  for (let count = 0; count < 6; count++) {
    const upload = await RawConnection.open(service.url)
    uploads.push(upload)
    await upload.send(head(largest))
  }
  const small = await service.post('/api/tasks', { endpointId: 'test.free', params: {} }, { key: person.key })
  expect(small.status).toBe(200)
  {
    using seventh = await RawConnection.open(service.url)
    await seventh.send(head(largest))
    const refused = await seventh.readAnswer()
    expectErrorBody(refused, { status: 503, error: 'Service unavailable', message: /large requests/ })
    expect(refused!.headers.get('retry-after')).toBe('1')
  }
  uploads.pop()![Symbol.dispose]()
  using eighth = await RawConnection.open(service.url)
  // The service learns of the closed one in a moment of its own.
  await expect
    .poll(async () => {
      using probe = await RawConnection.open(service.url)
      await probe.send(head(body.length + 100_000) + body + ' '.repeat(100_000))
      return (await probe.readAnswer())?.status
    })
    .toBe(200)
  await eighth.send(head(largest) + body + ' '.repeat(largest - body.length))
  expect((await eighth.readAnswer())?.status).toBe(200)
  for (const upload of uploads) upload[Symbol.dispose]()
})
