import { fork, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** Runs a file of this folder as a process with an IPC channel. The process exits with this one. */
export class ForkedProcess {
  readonly #child: ChildProcess
  readonly #name: string
  readonly #messages: unknown[] = []
  readonly #kill = () => this.#child.kill('SIGKILL')
  readonly #exited: Promise<unknown>
  #onMessage = () => {}
  #hasExited = false

  constructor(name: string, env: NodeJS.ProcessEnv) {
    this.#name = name
    this.#child = fork(fileURLToPath(new URL(`./${name}.ts`, import.meta.url)), { stdio: 'inherit', env })
    process.once('exit', this.#kill)
    this.#child.on('message', (message) => {
      this.#messages.push(message)
      this.#onMessage()
    })
    this.#exited = new Promise((resolve) => {
      this.#child.once('exit', () => {
        this.#hasExited = true
        process.off('exit', this.#kill)
        this.#onMessage()
        resolve(undefined)
      })
    })
  }

  send(message: object | string): void {
    this.#child.send(message)
  }

  async next<Message>(): Promise<Message> {
    while (this.#messages.length === 0) {
      if (this.#hasExited) throw new Error(`${this.#name} has exited`)
      await new Promise<void>((resolve) => (this.#onMessage = resolve))
    }
    return this.#messages.shift() as Message
  }

  async end(): Promise<void> {
    if (!this.#hasExited) this.#kill()
    await this.#exited
  }
}
