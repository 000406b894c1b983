import { subscribe } from 'node:diagnostics_channel'
import dns from 'node:dns/promises'
import { appendFileSync, readFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { syncBuiltinESMExports } from 'node:module'
import { isMainThread } from 'node:worker_threads'

// Preloaded into the server of the hostile run and each of its threads. Directs DNS queries to a silent name server,
// and reports the delay and the work of the event loop.

/** Report on half a second of the main thread. */
export type Watched = {
  at: number
  /** The longest delay of a timer, excluding time spent waiting for a CPU. */
  lateMs: number
  /** The longest CPU time between two timers, and the requests that arrived in that interval. */
  workMs: number
  requests: string[]
  /** Time that the thread was runnable but not running. */
  waitedMs: number
  heapMb: number
  externalMb: number
}

const everyMs = 10
const tellMs = 500
const requestsMax = 8
const { HOSTILE_NAME_SERVER: nameServer, HOSTILE_WATCH_FILE: file } = process.env

if (nameServer !== undefined) {
  const only = nameServer
  const { Resolver } = dns
  dns.Resolver = class extends Resolver {
    constructor(...options: ConstructorParameters<typeof Resolver>) {
      super(...options)
      this.setServers([only])
    }
  }
  syncBuiltinESMExports()
}

if (file !== undefined && isMainThread) {
  let requests: string[] = []
  subscribe('http.server.request.start', (message) => {
    const { method, url } = (message as { request: IncomingMessage }).request
    if (requests.length < requestsMax) requests.push(`${method} ${url?.slice(0, 80)}`)
  })
  const waitedMs = () => Number(readFileSync('/proc/self/schedstat', 'latin1').split(' ')[1]) / 1e6
  const cpuMs = () => {
    const { system, user } = process.threadCpuUsage()
    return (system + user) / 1000
  }
  const none = { lateMs: 0, workMs: 0, waitedMs: 0, requests: [] as string[] }
  let last = { at: performance.now(), waited: waitedMs(), cpu: cpuMs() }
  let most = { ...none }
  setInterval(() => {
    const now = { at: performance.now(), waited: waitedMs(), cpu: cpuMs() }
    const waited = now.waited - last.waited
    const work = now.cpu - last.cpu
    most.waitedMs += waited
    most.lateMs = Math.max(most.lateMs, now.at - last.at - everyMs - waited)
    if (work > most.workMs) {
      most.workMs = work
      most.requests = requests
    }
    requests = []
    last = now
  }, everyMs).unref()
  setInterval(() => {
    const { external, heapUsed } = process.memoryUsage()
    const told: Watched = { at: Date.now(), ...most, heapMb: heapUsed / 2 ** 20, externalMb: external / 2 ** 20 }
    appendFileSync(file, `${JSON.stringify(told)}\n`)
    most = { ...none }
  }, tellMs).unref()
}
