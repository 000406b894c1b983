import type { IncomingMessage, ServerResponse } from 'node:http'
import { createClient, type AnyConfig, type ErrandClient, type UnknownConfig } from '../../client/client.ts'
import type { Checked, ErrandConfig } from '../agents/config/define-config.ts'
import { openEmbeddingKey } from '../auth/platform/manage-platform-keys.ts'
import { basePathOf } from '../http/base-path.ts'
import { DataDirInUseError } from '../store/store-open-error.ts'
import { checkBaseUrl, resolveDataDir, resolveLogLevel, resolveSecrets } from './config.ts'
import { inProcessFetch } from './in-process-fetch.ts'
import { openService } from './open-service.ts'
import type { Reloaded } from './reloaded.ts'
import { createServiceLog } from './service-log.ts'

export type ErrandOptions<Config extends ErrandConfig = ErrandConfig> = {
  /**
   * Path of a configuration file, whose agents run in their own threads, or a configuration object, whose agents run in
   * this thread.
   */
  readonly config: Checked<Config, ErrandConfig | string>
  /**
   * URL at which clients reach the service, such as `https://shop.example.com/errand`. Its path is the prefix of all
   * links, redirects and console pages.
   */
  readonly baseUrl: string
  /** Folder for the database, payloads and secret. The default is `.errand`. Only one service can use it at a time. */
  readonly dataDir?: string
  /**
   * Called once if the database can no longer be written safely. The process must then exit. The default throws an
   * uncaught error.
   */
  readonly onFatal?: (cause: unknown) => void
}

/**
 * The part of Node's `IncomingMessage` that Errand uses. Declared here so that the package's declarations do not need
 * `@types/node`.
 */
type NodeRequest = { readonly url?: string | undefined; readonly rawHeaders: string[]; readonly complete: boolean }
/** The part of Node's `ServerResponse` that Errand uses. */
type NodeResponse = { readonly headersSent: boolean; flushHeaders(): void; writeHead(status: number): unknown }

export type Errand<Config extends AnyConfig = UnknownConfig> = {
  /** Path of the service without a trailing slash. Empty at the root. */
  readonly basePath: string
  /** Handles a request to `basePath` or below. Expects a `node:http` request and response, with an unread body. */
  readonly handler: (request: NodeRequest, response: NodeResponse) => void
  /**
   * In-process client with a platform key for this service. It creates and credits users, and `asUser` returns a client
   * for one of them.
   */
  readonly client: ErrandClient<Config>
  /**
   * Reloads the configuration file and its modules. Later tasks and turns use the new configuration, and those in
   * progress finish with the old one. Rejects and changes nothing if the new configuration is invalid.
   */
  reload(): Promise<Reloaded>
  /** Accepts no new work, waits for runs in progress for at most the drain time, then closes everything. */
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
  }).catch((error: unknown) => {
    throw error instanceof DataDirInUseError ? new DataDirInUseError(dataDir, 'dataDir') : error
  })
  try {
    const apiKey = await openEmbeddingKey({ log, store: app.store }, resolveSecrets(dataDir).current)
    return {
      basePath: basePathOf(baseUrl),
      client: createClient({ baseUrl, apiKey, fetch: inProcessFetch(app.handler) }),
      handler: (request, response) => app.handler(request as IncomingMessage, response as ServerResponse),
      reload: () => app.reload(),
      close: () => app.stop(),
    }
  } catch (error) {
    await app.stop()
    throw error
  }
}
