/** The process of a stdio server, which leads a group of its own. */
export type Child = { pid: number; isAlive: boolean }

/** Told of the processes of stdio servers, for whoever must end them when the thread that began them cannot. */
export type OnChild = (child: Child) => void

/** The processes that were begun and have not ended. */
export class ChildGroups {
  readonly #pids = new Set<number>()

  note({ isAlive, pid }: Child): void {
    if (isAlive) this.#pids.add(pid)
    else this.#pids.delete(pid)
  }

  killAll(): void {
    for (const pid of this.#pids) kill(pid)
    this.#pids.clear()
  }
}

function kill(pid: number): void {
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, 'SIGKILL')
  } catch {
    // It has ended by itself.
  }
}
