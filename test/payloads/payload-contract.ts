import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { ErrandError } from '../../server/kernel/errors.ts'
import { newId } from '../../server/kernel/ids.ts'
import { checkedChunks, PayloadDamage } from '../../server/payloads/payload-digest.ts'
import type { PayloadStore } from '../../server/payloads/payload-store.ts'
import type { PayloadDigest } from '../../server/payloads/stored-json.ts'
import type { LinkRelay } from './link-relay.ts'

export type PayloadPlace = {
  store: PayloadStore
  /** Another node's store. */
  other: PayloadStore
  stored(): Promise<string[]>
  /** Changes stored content behind the store's back. */
  change(payloadId: string, change: (content: Buffer) => Buffer): Promise<void>
  remove(payloadId: string): Promise<void>
  /** Makes the storage unreachable until `heal`. */
  cut(): Promise<void>
  heal(): Promise<void>
  /** The first store's network proxy; undefined without a network. */
  relay?: LinkRelay
  close(): Promise<void>
}

export type PayloadEngine = { name: string; open(): Promise<PayloadPlace> }

const hourMs = 3_600_000
/** Includes payloads dated slightly in the future, because buckets round times. */
const anyAge = -5000
const mebibyte = 1_048_576

function digestOf(text: string): PayloadDigest {
  return { bytes: Buffer.byteLength(text), sha256: createHash('sha256').update(text).digest('base64url') }
}

async function streamed(store: PayloadStore, payloadId: string, digest: PayloadDigest | null): Promise<string> {
  const found = (await store.openStream(payloadId))!
  const sha256: Buffer[] = []
  for await (const chunk of checkedChunks(found.stream(), { payloadId, digest })) sha256.push(chunk)
  const content = Buffer.concat(sha256)
  expect(content.length).toBe(found.bytes)
  return content.toString()
}

/** Defines the tests of the contract of every payload store. */
export function testPayloadStore({ name, open }: PayloadEngine): void {
  const promises = (what: string, run: (place: PayloadPlace) => Promise<void>, timeoutMs = 60_000) =>
    test(
      `${name}: ${what}`,
      async () => {
        const place = await open()
        try {
          await run(place)
        } finally {
          await place.close()
        }
      },
      timeoutMs,
    )

  promises('reads and streams binary content of any size unchanged', async (place) => {
    const { other, store } = place
    for (const length of [1, 20_000, mebibyte - 1, mebibyte, 2 * mebibyte + 1]) {
      const content = Buffer.alloc(length, Uint8Array.from([0xff, 0xd8, 0x00, 0x80, 0xc3]))
      const { digest, id } = await store.write(content)
      expect(digest.bytes).toBe(length)
      await store.release(id)
      expect(content.equals(await other.readBytes(id, digest))).toBe(true)
      const found = (await other.openStream(id))!
      const chunks: Buffer[] = []
      for await (const chunk of checkedChunks(found.stream(), { payloadId: id, digest })) chunks.push(chunk)
      expect(content.equals(Buffer.concat(chunks))).toBe(true)
      await place.change(id, (stored) => stored.fill(0x7f, 0, 1))
      await expect(other.readBytes(id, digest)).rejects.toThrow(PayloadDamage)
    }
  })

  promises('reads and streams strings of any size unchanged on every node', async (place) => {
    const { other, store } = place
    const texts = [
      '{}',
      JSON.stringify({ text: 'x'.repeat(20_000) }),
      // A byte order mark is part of the text.
      `\uFEFF${'y'.repeat(20_000)}`,
      // Characters of one to four bytes straddle part boundaries.
      ...[mebibyte - 1, mebibyte].flatMap((bytes) =>
        ['', '😀', '€😀é'.repeat(150_000)].map((end) => 'x'.repeat(bytes) + end),
      ),
      `xxx${'😀'.repeat(300_000)}`,
    ]
    for (const text of texts) {
      const { digest, id } = await store.write(text)
      expect(digest).toEqual(digestOf(text))
      await store.release(id)
      expect((await other.read(id, digest)) === text, 'is read').toBe(true)
      expect((await streamed(other, id, digest)) === text, 'is streamed').toBe(true)
    }
    expect(await place.stored()).toHaveLength(texts.length)
    const { id } = await store.write(texts[1]!)
    expect(await store.read(id, null)).toBe(texts[1])
  })

  promises('simultaneous writes each keep their own content', async ({ other, store }) => {
    const texts = Array.from({ length: 40 }, (_, n) => JSON.stringify({ n, text: 'x'.repeat(n * 10_000) }))
    const written = await Promise.all(texts.map((text) => store.write(text)))
    expect(new Set(written.map(({ id }) => id)).size).toBe(40)
    const read = await Promise.all(written.map(({ digest, id }) => other.read(id, digest)))
    expect(read.every((text, n) => text === texts[n])).toBe(true)
  })

  promises('writes content under a given id, and again on a retry', async ({ other, store }) => {
    const id = newId('pay', Date.now())
    const text = JSON.stringify('x'.repeat(2 * mebibyte))
    expect(await store.writeAs(id, text)).toEqual(digestOf(text))
    expect(await other.writeAs(id, text)).toEqual(digestOf(text))
    expect((await store.read(id, digestOf(text))) === text).toBe(true)
  })

  promises('rejects reads of content that was changed in storage', async ({ change, store }) => {
    const changes: ((content: Buffer) => Buffer)[] = [
      (content) => Buffer.from(content.map((byte, at) => (at === 0 ? byte ^ 1 : byte))),
      (content) => Buffer.from(content.map((byte, at) => (at === content.length - 1 ? byte ^ 1 : byte))),
      (content) => content.subarray(0, content.length - 1),
      (content) => Buffer.concat([content, Buffer.from(' ')]),
    ]
    for (const text of ['x'.repeat(20_000), 'y'.repeat(2.5 * mebibyte)]) {
      for (const changed of changes) {
        const { digest, id } = await store.write(text)
        await change(id, changed)
        await expect(store.read(id, digest)).rejects.toThrow(PayloadDamage)
        await expect(streamed(store, id, digest)).rejects.toThrow(PayloadDamage)
      }
    }
  })

  promises('does not find missing content, and no id leads outside the storage', async ({ remove, store }) => {
    const { digest, id } = await store.write('x'.repeat(20_000))
    await remove(id)
    await expect(store.read(id, digest)).rejects.toThrow()
    const unknown = [id, newId('pay', Date.now()), '', 'owner', '../../errand.db', `pay_${'*'.repeat(26)}`]
    for (const other of unknown) expect(await store.openStream(other)).toBeUndefined()
  })

  promises('discarded content is deleted immediately, and released content stays', async ({ store, stored }) => {
    const [kept, small, large] = await Promise.all(
      [20_000, 20_000, 3_000_000].map((length) => store.write('x'.repeat(length))),
    )
    await store.release(kept!.id)
    await store.release(small!.id, true)
    await store.release(large!.id, true)
    expect(await stored()).toEqual([kept!.id])
    await expect(store.read(large!.id, large!.digest)).rejects.toThrow()
  })

  promises('collects old orphans, but no payload that a row references or is about to reference', async (place) => {
    const { other, store, stored } = place
    const named = new Set<string>()
    const hasRow = (id: string) => Promise.resolve(named.has(id))
    const texts = Array.from({ length: 12 }, (_, n) => 'x'.repeat(20_000 + n))
    const [unsettled, ofOther, ...rest] = await Promise.all(
      texts.map((text, n) => (n === 1 ? other : store).write(text)),
    )
    for (const { id } of rest) await store.release(id)
    for (const { id } of rest.slice(0, 5)) named.add(id)
    const kept = [unsettled!, ...rest.slice(0, 5)].map(({ id }) => id)
    // No content of either node is an hour old.
    expect(await store.collectOrphans(hourMs, hasRow)).toBe(0)
    expect(await stored()).toHaveLength(12)
    named.add(ofOther!.id)
    expect(await store.collectOrphans(anyAge, hasRow)).toBe(5)
    expect(await store.collectOrphans(anyAge, hasRow)).toBe(0)
    expect(new Set(await stored())).toEqual(new Set([...kept, ofOther!.id]))
    expect(await store.read(unsettled!.id, unsettled!.digest)).toBe(texts[0])
    // A new payload, spared until its release, is collected after it.
    await store.release(unsettled!.id)
    const { id: later } = await store.write('y'.repeat(20_000))
    await store.release(later)
    expect(await store.collectOrphans(anyAge, hasRow)).toBe(2)
    expect(await stored()).toHaveLength(6)
  })

  promises(
    'rejects writes without partial content during a storage outage, and works again afterwards',
    async (place) => {
      const { store, stored } = place
      const text = 'x'.repeat(3_000_000)
      const { digest, id } = await store.write(text)
      await store.release(id)
      await place.cut()
      for (const length of [20_000, 3_000_000]) {
        const refused = await store.write('y'.repeat(length)).catch((error: unknown) => error)
        expect(refused).toBeInstanceOf(ErrandError)
        expect(refused).toMatchObject({ code: 'SERVICE_UNAVAILABLE', retryAfterSeconds: 5 })
      }
      await expect(store.read(id, digest)).rejects.toThrow()
      // The caller does not wait for the storage.
      await store.release(id)
      await place.heal()
      expect(await store.read(id, digest)).toBe(text)
      expect(await stored()).toEqual([id])
      const again = await store.write(text)
      expect(await store.read(again.id, again.digest)).toBe(text)
    },
  )

  promises('writes and streams 50 MB without reading far ahead', async (place) => {
    const { relay, store } = place
    const text = 'z'.repeat(50_000_000)
    const { digest, id } = await store.write(text)
    expect(digest).toEqual(digestOf(text))
    const found = (await store.openStream(id))!
    expect(found.bytes).toBe(50_000_000)
    const before = relay?.bytesReceived ?? 0
    const sha256 = createHash('sha256')
    let isFirst = true
    for await (const chunk of found.stream() as AsyncIterable<Buffer>) {
      sha256.update(chunk)
      if (isFirst && relay) {
        // The reader pauses while others use the same connection.
        const { digest: small, id: smallId } = await store.write('x'.repeat(20_000))
        for (let n = 0; n < 20; n++) await store.read(smallId, small)
        expect(relay.bytesReceived - before).toBeLessThan(20_000_000)
      }
      isFirst = false
    }
    expect(sha256.digest('base64url')).toBe(digest.sha256)
  })

  promises('a reader that stops early does not affect later reads', async ({ store }) => {
    const { digest, id } = await store.write('z'.repeat(12_000_000))
    for (let n = 0; n < 8; n++) {
      const chunks = checkedChunks((await store.openStream(id))!.stream(), { payloadId: id, digest })
      await chunks.next()
      await chunks.return()
      // Destroys a stream before it was read.
      ;(await store.openStream(id))!.stream().destroy()
    }
    expect(await store.read(id, digest)).toHaveLength(12_000_000)
  })
}

/** Defines the additional tests of stores on a network. */
export function testFarPayloads({ name, open }: PayloadEngine): void {
  test(`${name}: reads and writes survive a lost response`, async () => {
    const place = await open()
    const { other, store, stored } = place
    const relay = place.relay!
    try {
      const texts = ['x'.repeat(20_000), 'y'.repeat(3_000_000)]
      for (const text of texts) {
        // Opens connections first, so that the lost response is the write's.
        const { id: first } = await store.write(text)
        await store.release(first, true)
        relay.loseNextAnswer()
        const { digest, id } = await store.write(text)
        expect((await other.read(id, digest)) === text).toBe(true)
        relay.loseNextAnswer()
        expect((await store.read(id, digest)) === text).toBe(true)
        relay.loseNextAnswer()
        expect((await streamed(store, id, digest)) === text).toBe(true)
      }
      expect(await stored()).toHaveLength(2)
    } finally {
      await place.close()
    }
  })
}
