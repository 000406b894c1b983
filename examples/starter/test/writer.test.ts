import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scriptedModel, startTestErrand } from 'errand/testing'
import { writer } from '../agents/writer.ts'

test('a summary is charged, and a failed one is refunded', async (t) => {
  const model = scriptedModel('In short.', new Error('The model is overloaded.'))
  const errand = await startTestErrand({ config: { agents: [writer(model)] }, balanceUsd: '5.00' })
  t.after(() => errand.close())
  const summarize = () => errand.client.tasks.run({ endpointId: 'writer.summarize', params: { text: 'A long story.' } })

  const { costUsd, response, status } = await summarize()
  assert.deepEqual(
    { costUsd, response, status },
    { costUsd: '0.0100', response: { text: 'In short.' }, status: 'completed' },
  )
  assert.match(JSON.stringify(model.calls[0]?.prompt), /A long story\./)

  const failed = await summarize()
  assert.deepEqual([failed.status, failed.refundedUsd], ['failed', '0.0100'])
  const { balanceUsd } = await errand.client.account.get()
  assert.equal(balanceUsd, '4.9900')
})
