import type { IncomingMessage, ServerResponse } from 'node:http'
import { createClient, type ErrandClient } from '../../client/client.ts'
import type { ErrandConfig } from '../agents/config/define-config.ts'
import { openEmbeddingKey } from '../auth/platform/manage-platform-keys.ts'
import { basePathOf } from '../http/base-path.ts'
import { checkBaseUrl, resolveDataDir, resolveLogLevel, resolveSecrets } from './config.ts'
import type { Reloaded } from './load-catalogue.ts'
import { inProcessFetch } from './in-process-fetch.ts'
import { openService } from './open-service.ts'
import { createServiceLog } from './service-log.ts'

export type ErrandOptions = {
  /**
   * Path of the configuration file, whose agents then run in their own threads; or a configuration, whose agents run in
   * this thread.
   */
  readonly config: ErrandConfig | string
  /**
   * URL at which clients reach the service, such as `https://shop.example.com/errand`. The service is at its path, which
   * links, redirects and the console contain.
   */
  readonly baseUrl: string
  /** Folder of the database, payloads and secret; `.errand` by default. Only one service can use it. */
  readonly dataDir?: string
  /**
   * Called once if the database can no longer be written safely. The process must then end: by default this throws an
   * uncaught error.
   */
  readonly onFatal?: (cause: unknown) => void
}

/** A service inside another server. */
export type Errand = {
  /** Path of the service, without a trailing slash; empty at the root. */
  readonly basePath: string
  /**
   * Answers a request to `basePath` or below. Takes the request and response of `node:http`, before anything has read
   * the body.
   */
  readonly handler: (request: IncomingMessage, response: ServerResponse) => void
  /**
   * Client with a platform key of this server, without network. It creates and credits users, and `asUser` returns the
   * client of a user.
   */
  readonly client: ErrandClient
  /**
   * Loads the configuration file and its modules again. Later tasks and turns run with the new configuration; those in
   * progress end with the old one. Rejects if the new one cannot be used, and changes nothing then.
   */
  reload(): Promise<Reloaded>
  /** Accepts no new work, waits for running work for at most the drain time, and closes everything. */
  close(): Promise<void>
}

export async function openEmbedded({
  baseUrl: givenUrl,
  config,
  dataDir: givenFolder,
  onFatal,
}: ErrandOptions): Promise<Errand> {
  const baseUrl = checkBaseUrl('baseUrl', givenUrl)
  const dataDir = resolveDataDir(givenFolder)
  const log = createServiceLog(resolveLogLevel())
  const app = await openService({
    config,
    baseUrl,
    dataDir,
    listens: null,
    log,
    onFatal: (cause) => {
      if (onFatal) return onFatal(cause)
      process.nextTick(() => {
        throw cause
      })
    },
  })
  try {
    const apiKey = await openEmbeddingKey({ log, store: app.store }, resolveSecrets(dataDir).current)
    return {
      basePath: basePathOf(baseUrl),
      client: createClient({ baseUrl, apiKey, fetch: inProcessFetch(app.connect) }),
      handler: app.handler,
      reload: () => app.reload(),
      close: () => app.stop(),
    }
  } catch (error) {
    await app.stop()
    throw error
  }
}
