import type { App } from '../../server/app/app.ts'
import type { Clock } from '../../server/kernel/clock.ts'
import { MachineTime } from './sim-clock.ts'
import { gates, type GateEnd } from './sim-gates.ts'
import { FaultLog, lookForRecharges, startSimApp } from './sim-host.ts'

// A simulated service in its own process, which can be killed. It is controlled over IPC.

export type SimOrder = { id: number } & (
  | { do: 'start'; dataDir: string; wall: number; monotonic: number }
  | { do: 'time'; passMs: number; setMs: number }
  | { do: 'gate'; name: string; end: GateEnd }
  | { do: 'recharge' }
  | { do: 'stop'; hasten: boolean }
)
export type SimReport = { id: number; now: number; url: string; faults: string[]; error?: string }

const log = new FaultLog()
let time = new MachineTime(0)
let clock: Clock = { now: () => 0 }
let app: App | undefined

async function carryOut(order: SimOrder): Promise<void> {
  switch (order.do) {
    case 'start':
      time = new MachineTime(order.wall, order.monotonic)
      app = await startSimApp(order.dataDir, {
        log,
        createClock: (notBefore) => (clock = time.systemClock(notBefore)),
        onFatal: (cause) => log.note(`the store stopped for good: ${String(cause)}`),
      })
      return
    case 'time':
      time.pass(order.passMs)
      time.set(order.setMs)
      return
    case 'gate':
      return gates.open(order.name, order.end)
    case 'recharge':
      return await lookForRecharges(app!)
    case 'stop': {
      const stopped = app!.stop()
      if (order.hasten) app!.hasten()
      await stopped
    }
  }
}

process.on('message', (order: SimOrder) => {
  carryOut(order).then(
    () =>
      process.send!({ id: order.id, now: clock.now(), url: app?.url ?? '', faults: log.take() } satisfies SimReport),
    (error: unknown) =>
      process.send!({ id: order.id, now: 0, url: '', faults: [], error: String(error) } satisfies SimReport),
  )
})
process.on('disconnect', () => process.exit(0))
