import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3'
import { SystemClock } from '../../server/kernel/clock.ts'
import { newS3Client, S3PayloadStore } from '../../server/payloads/s3-payload-store.ts'
import { LinkRelay } from './link-relay.ts'
import { testFarPayloads, testPayloadStore, type PayloadEngine } from './payload-contract.ts'
import { bucketAt, describeS3, type S3Server } from './s3-server.ts'

await describeS3('payloads', (server) => {
  testPayloadStore(s3Engine(server))
  testFarPayloads(s3Engine(server))
})

function s3Engine(server: S3Server): PayloadEngine {
  return {
    name: 'S3',
    open: async () => {
      const bucket = await server.newBucket()
      const relay = await LinkRelay.to(server.port)
      const client = newS3Client(bucket)
      const objectOf = (id: string) => ({ Bucket: bucket.bucket, Key: `installation/${id.slice(-1)}/${id}.json` })
      const store = new S3PayloadStore(bucketAt(bucket, relay.port), new SystemClock())
      const other = new S3PayloadStore(bucket, new SystemClock(), 2)
      return {
        store,
        other,
        relay,
        stored: async () => (await keysOf(client, bucket.bucket)).flatMap((key) => /pay_\w+/.exec(key)?.[0] ?? []),
        change: async (id, change) => {
          const { Body: body } = await client.send(new GetObjectCommand(objectOf(id)))
          const content = change(Buffer.from(await body!.transformToByteArray()))
          await client.send(new PutObjectCommand({ ...objectOf(id), Body: content }))
        },
        remove: async (id) => void (await client.send(new DeleteObjectCommand(objectOf(id)))),
        cut: async () => relay.cut(),
        heal: async () => relay.heal(),
        close: async () => {
          await store.close()
          await other.close()
          client.destroy()
          await relay.close()
        },
      }
    },
  }
}

async function keysOf(client: S3Client, bucket: string): Promise<string[]> {
  const { Contents: found = [] } = await client.send(new ListObjectsV2Command({ Bucket: bucket }))
  return found.map(({ Key: key = '' }) => key)
}
