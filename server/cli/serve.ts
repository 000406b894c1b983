import { closeSync, openSync } from 'node:fs'
import pino, { type DestinationStream, type Logger } from 'pino'
import type { App } from '../app/app.ts'
import { isBelowNpm, resolveLogLevel, resolveServe, type ServeOptions } from '../app/config.ts'
import { overriddenVariables } from '../app/env-file.ts'
import { openService } from '../app/open-service.ts'
import { createServiceLog } from '../app/service-log.ts'
import { listenForCommands } from './server-socket.ts'

type Options = ServeOptions & { json?: boolean }

type Describe = (app: App, options: Options) => Promise<string> | string

/** Serves until a signal arrives. Resolves once the service is listening and the text from `describe` is printed. */
export async function serve(options: Options, describe?: Describe): Promise<void> {
  // The demo prints its instructions before its log. Without the demo, the service logs from the start, so that the log
  // shows why it failed to start.
  const held = describe && new HeldOutput(pino.destination({ dest: 2, sync: false }))
  try {
    await start(options, { describe: describe ?? describeAddress, log: createServiceLog(resolveLogLevel(), held) })
  } finally {
    held?.release()
  }
}

function describeAddress({ url }: App, { json }: Options): string {
  return json ? JSON.stringify({ url }) : `Errand listens on ${url}`
}

async function start(options: Options, { describe, log }: { describe: Describe; log: Logger }): Promise<void> {
  for (const overridden of overriddenVariables()) log.warn({}, overridden)
  const settings = resolveServe(options)
  const { baseUrl, configFile, dataDir, host, port, role } = settings
  const app = await openService({
    config: configFile,
    baseUrl,
    dataDir,
    listens: { host, port },
    role,
    log,
    onFatal: (cause) => {
      const isDamaged = cause instanceof Error && cause.name === 'StoreOpenError'
      const message = 'the database can no longer be written safely. Start the server again to recover'
      log.fatal({ err: cause }, isDamaged ? cause.message : message)
      // Leave time to send error responses to pending requests.
      setTimeout(() => process.exit(1), 200)
    },
  })
  handleSignals(app, log)
  survive(log)
  try {
    process.stdout.write(`${await describe(app, options)}\n`)
  } catch (error) {
    await app.stop()
    throw error
  }
  listenForCommands(dataDir, { log, reload: () => app.reload(), url: app.url })
  log.info({ url: app.url, dataDir, configFile }, 'listening')
}

/**
 * The first signal starts the drain. A second signal within half a second is ignored, because the terminal and npm both
 * deliver an interrupt. A later SIGINT interrupts and refunds the runs in progress. SIGHUP reloads the configuration.
 */
function handleSignals(app: App, log: Logger): void {
  const sameSignalMs = 500
  let stoppedAt: number | undefined
  const onSignal = (signal: NodeJS.Signals) => {
    if (stoppedAt !== undefined) {
      if (signal === 'SIGINT' && performance.now() - stoppedAt > sameSignalMs) app.hasten()
      return
    }
    stoppedAt = performance.now()
    const { runningCount } = app.services.tasks.runner
    log.info(
      { signal, running: runningCount },
      'stopping and waiting for running work to finish. Interrupt again to stop immediately',
    )
    app.stop().then(
      () => {
        log.info({}, 'stopped')
        process.exit(0)
      },
      (error: unknown) => {
        log.fatal({ err: error }, 'the service did not stop cleanly')
        process.exit(1)
      },
    )
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, onSignal)
  const isInTerminal = hasTerminal()
  process.on('SIGHUP', () => {
    // A closing terminal also sends SIGHUP.
    if (isInTerminal && !hasTerminal()) return onSignal('SIGHUP')
    // The reload has already logged the failure.
    app.reload().catch(() => {})
  })
  if (isBelowNpm()) onParentGone(() => onSignal('SIGTERM'))
}

function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'))
    return true
  } catch {
    return false
  }
}

/** Calls `stop` when the parent process ends. The system then assigns another parent. */
function onParentGone(stop: () => void): void {
  const parent = process.ppid
  const watch = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(watch)
    stop()
  }, 500)
  watch.unref()
}

/**
 * Logs uncaught errors and keeps the service running, because exiting would interrupt every run over one bad request.
 * Money and task state are safe in the database.
 */
function survive(log: Logger): void {
  process.on('uncaughtException', (error) => log.error({ err: error }, 'uncaught error'))
  process.on('unhandledRejection', (reason) => log.error({ err: reason }, 'unhandled rejection'))
}

class HeldOutput implements DestinationStream {
  readonly #output: DestinationStream
  #lines: string[] | undefined = []

  constructor(output: DestinationStream) {
    this.#output = output
  }

  write(line: string): void {
    if (this.#lines) this.#lines.push(line)
    else this.#output.write(line)
  }

  release(): void {
    for (const line of this.#lines ?? []) this.#output.write(line)
    this.#lines = undefined
  }
}
