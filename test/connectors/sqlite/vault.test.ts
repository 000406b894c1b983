import { Buffer } from 'node:buffer'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { SealedSecretsError, SecretVault, type SecretOwner, type Secrets } from '../../../server/kernel/secret-vault.ts'
import { must } from '../../../server/kernel/assert.ts'

const owner: SecretOwner = { userId: 'user_1', connectorId: 'con_1' }
const only = (current: string, ...previous: string[]) => new SecretVault(() => ({ current, previous }))
const first = 'the first secret of all'
const second = 'the second one, after it'
const third = 'the third one, and the last'

/** Changes the bytes of nonce, ciphertext and tag. */
function withBody(sealed: string, change: (bytes: Buffer) => Buffer): string {
  const [version, id, body] = sealed.split('.')
  return `${version}.${id}.${change(Buffer.from(must(body, 'a body'), 'base64url')).toString('base64url')}`
}

function expectRefused(vault: SecretVault, sealed: string, of = owner): void {
  expect(() => vault.open(sealed, of), sealed).toThrow(SealedSecretsError)
}

test('the owner can open sealed secrets, also with another vault of the same secret', () => {
  const record = fc.dictionary(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }))
  const owners = fc.record({ userId: fc.string(), connectorId: fc.string() })
  const secrets = fc.string({ minLength: 16, unit: 'grapheme' })
  fc.assert(
    fc.property(record, owners, secrets, (given, of, secret) => {
      const sealed = only(secret).seal(given, of)
      expect(sealed).toMatch(/^v1\.[\w-]{11}\.[\w-]+$/)
      expect(JSON.stringify(only(secret).open(sealed, of))).toBe(JSON.stringify(given))
    }),
    { numRuns: 200 },
  )
})

test('sealing hides secrets, names and key, and never gives the same output twice', () => {
  const vault = only(first)
  const secrets = { 'X-Api-Key': 'hunter2-hunter2-hunter2' }
  const texts = Array.from({ length: 50 }, () => vault.seal(secrets, owner))
  expect(new Set(texts).size).toBe(50)
  expect(new Set(texts.map((text) => text.slice(0, 15))).size).toBe(1)
  for (const text of texts) {
    const bytes = Buffer.from(text.split('.')[2]!, 'base64url').toString('latin1')
    expect(text + bytes).not.toMatch(/hunter2|api-key|first secret/i)
  }
})

test('rejects secrets for another user, another connector or shifted id boundaries', () => {
  const vault = only(first)
  const sealed = vault.seal({ token: 'x' }, owner)
  expectRefused(vault, sealed, { ...owner, userId: 'user_2' })
  expectRefused(vault, sealed, { ...owner, connectorId: 'con_2' })
  expectRefused(vault, sealed, { userId: 'con_1', connectorId: 'user_1' })
  expectRefused(vault, sealed, { userId: 'user_1c', connectorId: 'on_1' })
  expectRefused(vault, sealed, { userId: '', connectorId: '' })
  expect(vault.open(sealed, { ...owner })).toEqual({ token: 'x' })
})

test('rejects sealed secrets with any flipped bit, truncation or extra bytes', () => {
  const vault = only(first)
  const sealed = vault.seal({ token: 'a token' }, owner)
  const length = Buffer.from(sealed.split('.')[2]!, 'base64url').length
  for (let bit = 0; bit < length * 8; bit++) {
    const flipped = withBody(sealed, (bytes) => {
      bytes[bit >> 3]! ^= 1 << (bit & 7)
      return bytes
    })
    expectRefused(vault, flipped)
  }
  for (let left = 0; left < length; left++) {
    expectRefused(
      vault,
      withBody(sealed, (bytes) => bytes.subarray(0, left)),
    )
    expectRefused(
      vault,
      withBody(sealed, (bytes) => bytes.subarray(length - left)),
    )
  }
  expectRefused(
    vault,
    withBody(sealed, (bytes) => Buffer.concat([bytes, Buffer.alloc(1)])),
  )
  for (const text of ['', '.', '..', 'v1', 'v1.', 'v1..', sealed.split('.')[2]!, sealed.slice(0, 15)]) {
    expectRefused(vault, text)
  }
})

test("rejects sealed secrets of an unknown key, another key's id or another version", () => {
  const vault = only(first, second)
  const sealed = vault.seal({ token: 'x' }, owner)
  expectRefused(only(second), sealed)
  expectRefused(only(third, second), sealed)
  const [, id] = sealed.split('.')
  const [, otherId] = only(second).seal({ token: 'x' }, owner).split('.')
  expect(otherId).not.toBe(id)
  expectRefused(vault, sealed.replace(id!, otherId!))
  expectRefused(vault, sealed.replace('v1.', 'v2.'))
  expectRefused(vault, sealed.replace('v1.', ''))
})

test('a vault error reveals nothing of the sealed secrets', () => {
  const sealed = only(first).seal({ token: 'hunter2-hunter2' }, owner)
  for (const [vault, of] of [
    [only(second), owner],
    [only(first), { ...owner, userId: 'user_2' }],
  ] as const) {
    try {
      vault.open(sealed, of)
      expect.unreachable()
    } catch (error) {
      expect(String(error)).not.toMatch(/hunter2|first secret/)
      expect(String(error)).not.toContain(sealed)
    }
  }
})

test('after rotation, data sealed with a previous secret still opens, and the new secret seals new data', () => {
  const old = only(first).seal({ token: 'x' }, owner)
  const middle = only(second, first).seal({ token: 'y' }, owner)
  const vault = only(third, second, first)
  expect(vault.open(old, owner)).toEqual({ token: 'x' })
  expect(vault.open(middle, owner)).toEqual({ token: 'y' })
  expect([old, middle].map((sealed) => vault.isCurrent(sealed))).toEqual([false, false])
  const anew = vault.seal(vault.open(old, owner), owner)
  expect(vault.isCurrent(anew)).toBe(true)
  expect(only(third).open(anew, owner)).toEqual({ token: 'x' })
  expectRefused(only(second, first), anew)
})

test('a running vault picks up a rotated secret automatically', () => {
  let secrets: Secrets = { current: first, previous: [] }
  let reads = 0
  const vault = new SecretVault(() => {
    reads++
    return secrets
  })
  const old = vault.seal({ token: 'x' }, owner)
  secrets = { current: second, previous: [first] }
  const anew = only(second).seal({ token: 'y' }, owner)
  expect(vault.open(anew, owner)).toEqual({ token: 'y' })
  const readsBefore = reads
  expect(vault.open(old, owner)).toEqual({ token: 'x' })
  expect(vault.open(anew, owner)).toEqual({ token: 'y' })
  expect(reads, 'known keys are kept').toBe(readsBefore)
  secrets = { current: third, previous: [second] }
  expect(only(third).open(vault.seal({ token: 'z' }, owner), owner)).toEqual({ token: 'z' })
  // The vault dropped the oldest secret, so it rejects what that secret encrypted.
  expectRefused(vault, old)
})

test('rejects a secret that is too short', () => {
  expect(() => only('fifteen chars..').seal({ token: 'x' }, owner)).toThrow(/at least 16 characters/)
})
