import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { benchAgainst } from './against/bench-against.ts'
import { prepareData } from './bench-data.ts'
import { formatTable, type Row } from './bench-table.ts'
import { measureBooks } from './measure-books.ts'
import { measureBlocking } from './measure-blocking.ts'
import { measureChat } from './measure-chat.ts'
import { measureStreams } from './measure-streams.ts'
import { measureClaims } from './measure-claims.ts'
import { measureCluster } from './measure-cluster.ts'
import { measureEvents } from './measure-events.ts'
import { measureLists } from './measure-lists.ts'
import { measureMemory } from './measure-memory.ts'
import { measureModels } from './measure-models.ts'
import { measureOpenai } from './measure-openai.ts'
import { measurePostgres } from './measure-postgres.ts'
import { measureReads } from './measure-reads.ts'
import { measureStart } from './measure-start.ts'
import { measureSubmissions } from './measure-submissions.ts'
import { benchCapacity } from './capacity/bench-capacity.ts'
import { benchPeers } from './peers/bench-peers.ts'
import { printProfiles, startProfiling } from './profile.ts'

// Starts the service and minimal baseline servers ("floors"), and sends requests to them from this process. Prints each
// result as a ratio to the baseline in the same run. `--quick` sends a tenth of the requests, and `--only NAME` runs
// one group. `--against COMMIT` compares this checkout with that commit instead. `--peers` compares it with Fastify,
// BullMQ and Redis. `--capacity COUNT` measures it with that many tasks. `--profile` also prints where the service spent
// its time.

const { values } = parseArgs({
  options: {
    against: { type: 'string' },
    capacity: { type: 'string' },
    only: { type: 'string' },
    peers: { type: 'boolean', default: false },
    profile: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
  },
})
const userCount = values.quick ? 500 : 4000
if (values.against !== undefined) {
  await benchAgainst(values.against, { isQuick: values.quick, only: values.only, userCount })
  process.exit()
}

if (values.peers) {
  report(await benchPeers({ isQuick: values.quick, only: values.only, userCount }))
  process.exit()
}

if (values.capacity !== undefined) {
  report(await benchCapacity(Number(values.capacity), values.only))
  process.exit()
}

const groups = {
  submissions: measureSubmissions,
  reads: measureReads,
  lists: measureLists,
  books: measureBooks,
  chat: measureChat,
  streams: measureStreams,
  openai: measureOpenai,
  models: measureModels,
  events: measureEvents,
  blocking: measureBlocking,
  start: measureStart,
  memory: measureMemory,
  claims: measureClaims,
  postgres: measurePostgres,
  cluster: measureCluster,
}

if (values.profile) startProfiling()
const data = await prepareData(userCount)
const rows: Row[] = []
try {
  for (const [name, measure] of Object.entries(groups)) {
    if (values.only !== undefined && values.only !== name) continue
    process.stderr.write(`${name}…\n`)
    rows.push(...(await measure({ ...data, isQuick: values.quick })))
  }
} finally {
  rmSync(data.template, { recursive: true, force: true })
}
report(rows)
printProfiles()

function report(rows: readonly Row[]): void {
  process.stdout.write(`${formatTable(rows)}\n`)
  const folder = fileURLToPath(new URL('./results/', import.meta.url))
  mkdirSync(folder, { recursive: true })
  const machine = { cpu: cpus()[0]?.model ?? 'unknown', cores: cpus().length, node: process.version }
  writeFileSync(`${folder}latest.json`, `${JSON.stringify({ at: new Date().toISOString(), machine, rows }, null, 2)}\n`)
  const missed = rows.filter(({ isMet }) => isMet === false)
  process.stdout.write(missed.length === 0 ? 'Every bar is met.\n' : `${missed.length} bars are missed.\n`)
}
