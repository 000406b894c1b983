import { randomInt } from 'node:crypto'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { unwrap } from '../../../client/webhooks.ts'
import { startService } from '../../support/test-service.ts'
import { startReceiver, type Received } from '../../webhooks/receiver.ts'
import { installTools } from '../install-tools.ts'

// Third-party libraries and ours accept every delivery, and all reject a changed one.

type Verifier = new (secret: string) => { verify(body: string, headers: Record<string, string>): unknown }
type Signed = { body: string; headers: Record<string, string> }

const mutated = 1000

function signedOf({ body, headers }: Received): Signed {
  const names = ['webhook-id', 'webhook-timestamp', 'webhook-signature']
  return { body, headers: Object.fromEntries(names.map((name) => [name, String(headers[name])])) }
}

/** Changes one character of the body, id, time or signature. */
function mutate({ body, headers }: Signed, n: number): Signed {
  const change = (text: string) => {
    const at = randomInt(text.length)
    const own = text.charCodeAt(at)
    const other = own === 0x30 ? 0x31 : own === 0x39 ? 0x38 : own >= 0x30 && own <= 0x39 ? own + 1 : own ^ 1
    return text.slice(0, at) + String.fromCharCode(other) + text.slice(at + 1)
  }
  const parts = ['body', 'webhook-id', 'webhook-timestamp', 'webhook-signature'] as const
  const part = parts[n % parts.length]!
  if (part === 'body') return { headers, body: change(body) }
  if (part !== 'webhook-signature') return { body, headers: { ...headers, [part]: change(headers[part]!) } }
  // The last character before the padding has unused bits.
  const [version, signature = ''] = headers[part]!.split(',')
  return { body, headers: { ...headers, [part]: `${version},${change(signature.slice(0, -2))}${signature.slice(-2)}` } }
}

test('standardwebhooks, svix and the client verify deliveries, and reject 1,000 altered ones', async () => {
  const require = createRequire(join(await installTools('webhooks'), 'here.js'))
  const libraries = ['standardwebhooks', 'svix'].map((name) => (require(name) as { Webhook: Verifier }).Webhook)
  const receiver = await startReceiver()
  const service = await startService({ privateHosts: ['127.0.0.1'] })
  const { key } = await service.createPerson()
  const { body: webhook } = await service.post('/api/webhooks', { url: receiver.url }, { key })
  await service.runTask(key, 'test.echo', {})
  const { body: rotated } = await service.post(`/api/webhooks/${webhook.id}/rotate`, {}, { key })
  await service.runTask(key, 'test.fail', {})
  const received = (await receiver.waitFor(2)).map(signedOf)
  expect(received[1]!.headers['webhook-signature']!.split(' ')).toHaveLength(2)
  const verifiers = (secret: string) => libraries.map((Library) => new Library(secret))
  for (const [signed, secrets] of [
    [received[0]!, [webhook.secret]],
    [received[1]!, [webhook.secret, rotated.secret]],
  ] as const) {
    for (const secret of secrets) {
      const event = JSON.parse(signed.body)
      // Ignores the result, because some libraries return the event and others nothing.
      for (const library of verifiers(secret)) library.verify(signed.body, signed.headers)
      expect(await unwrap(signed.body, signed.headers, secret)).toEqual(event)
    }
  }
  const [first] = received
  const accepted: Signed[] = []
  for (let n = 0; n < mutated; n++) {
    const forged = mutate(first!, n)
    for (const library of verifiers(webhook.secret)) {
      try {
        library.verify(forged.body, forged.headers)
        accepted.push(forged)
      } catch {
        // The library must reject a changed delivery.
      }
    }
    const outcome = await unwrap(forged.body, forged.headers, webhook.secret).catch(
      (error: { code: string }) => error.code,
    )
    if (outcome !== 'INVALID_SIGNATURE') accepted.push(forged)
  }
  expect(accepted).toEqual([])
  await service.stop()
  await receiver.stop()
})
