import { fork, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { MachineTime } from './sim-clock.ts'
import type { SimHost } from './sim-host.ts'
import type { SimOrder, SimReport } from './sim-process.ts'

const program = fileURLToPath(new URL('./sim-process.ts', import.meta.url))

type OrderOf<Order> = Order extends unknown ? Omit<Order, 'id'> : never

class Orders {
  readonly #child: ChildProcess
  readonly #waiting = new Map<number, { resolve: (report: SimReport) => void; reject: (cause: Error) => void }>()
  #id = 0

  constructor(child: ChildProcess) {
    this.#child = child
    child.on('message', (report: SimReport) => {
      const waiting = this.#waiting.get(report.id)
      this.#waiting.delete(report.id)
      if (report.error === undefined) waiting?.resolve(report)
      else waiting?.reject(new Error(report.error))
    })
    child.once('exit', (code) => {
      for (const { reject } of this.#waiting.values()) reject(new Error(`the service's process ended with ${code}`))
    })
  }

  give(order: OrderOf<SimOrder>): Promise<SimReport> {
    const id = ++this.#id
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject })
      this.#child.send({ id, ...order })
    })
  }
}

/** Runs the service in its own process; a crash is a real kill -9. */
export async function startProcessHost(dataDir: string, time: MachineTime): Promise<SimHost> {
  const child = fork(program, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  void exited.then(() => process.off('exit', kill))
  const orders = new Orders(child)
  const faults: string[] = []
  let now = 0
  const give = async (order: OrderOf<SimOrder>): Promise<SimReport> => {
    const report = await orders.give(order)
    now = report.now
    faults.push(...report.faults)
    return report
  }
  const { url } = await give({ do: 'start', dataDir, wall: time.wall, monotonic: time.monotonic })
  return {
    url,
    origin: url,
    dataDir,
    store: null,
    now: () => now,
    moveTime: async (passMs, setMs) => {
      time.pass(passMs)
      time.set(setMs)
      await give({ do: 'time', passMs, setMs })
    },
    openGate: async (name, end) => void (await give({ do: 'gate', name, end })),
    recharge: async () => void (await give({ do: 'recharge' })),
    stop: async (hasten) => {
      await give({ do: 'stop', hasten })
      child.disconnect()
      await exited
    },
    crash: async () => {
      child.kill('SIGKILL')
      await exited
      return dataDir
    },
    faults: () => faults.splice(0),
  }
}
