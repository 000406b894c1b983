import type { LogLine, ProgressLine, TaskProgress } from './task-schema.ts'

const linesMax = 200
const bytesMax = 16 * 1024
/** Longer messages are cut off and longer fields omitted, so that one line cannot displace all others. */
const charsMax = 2000

/** Newest progress messages and log lines of a run, and how long it waited for connectors. They are stored when its task ends. */
export class RunLog {
  #progress: NewestLines | undefined
  #log: NewestLines | undefined
  #lastMessage: string | undefined
  connectorMs = 0

  /** Adds a progress message, unless it repeats the previous one. */
  addProgress({ at, message }: TaskProgress): void {
    if (message === undefined || message === this.#lastMessage) return
    this.#lastMessage = message
    this.#progress ??= new NewestLines()
    this.#progress.add({ at, message: message.slice(0, charsMax) } satisfies ProgressLine)
  }

  addLine({ at, fields, message }: LogLine): void {
    const isShort = fields !== undefined && JSON.stringify(fields).length <= charsMax
    this.#log ??= new NewestLines()
    this.#log.add({ at, message: message.slice(0, charsMax), ...(isShort && { fields }) } satisfies LogLine)
  }

  get json(): string | undefined {
    const parts = Object.entries({ progress: this.#progress, log: this.#log }).flatMap(([name, lines]) =>
      lines ? [`"${name}":${lines.json}`] : [],
    )
    if (this.connectorMs > 0) parts.push(`"connectorMs":${this.connectorMs}`)
    return parts.length === 0 ? undefined : `{${parts.join(',')}}`
  }
}

class NewestLines {
  readonly #lines: string[] = []
  #bytes = 0
  #dropped = 0

  add(line: object): void {
    const json = JSON.stringify(line)
    this.#lines.push(json)
    this.#bytes += Buffer.byteLength(json)
    while (this.#lines.length > linesMax || this.#bytes > bytesMax) {
      this.#bytes -= Buffer.byteLength(this.#lines.shift()!)
      this.#dropped++
    }
  }

  get json(): string {
    return `{"dropped":${this.#dropped},"lines":[${this.#lines.join(',')}]}`
  }
}
