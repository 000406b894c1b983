import * as backups from './backups.ts'
import * as cancels from './cancels.ts'
import * as clockJumps from './clock-jumps.ts'
import * as cluster from './cluster.ts'
import * as damagedFiles from './damaged-files.ts'
import * as detachedTurns from './detached-turns.ts'
import * as disconnects from './disconnects.ts'
import * as diskFull from './disk-full.ts'
import type { Fault } from './fault-report.ts'
import * as hostile from './hostile.ts'
import * as ioErrors from './io-errors.ts'
import * as killAtRandom from './kill-at-random.ts'
import * as killAtSync from './kill-at-sync.ts'
import * as longLoad from './long-load.ts'
import * as mailKills from './mail-kills.ts'
import * as manyConnections from './many-connections.ts'
import * as mcpServers from './mcp-servers.ts'
import * as migrations from './migrations.ts'
import * as overload from './overload.ts'
import * as postgresKills from './postgres-kills.ts'
import * as powerLoss from './power-loss.ts'
import * as rogueRuns from './rogue-runs.ts'
import * as slowReader from './slow-reader.ts'
import * as statementKills from './statement-kills.ts'
import * as stops from './stops.ts'
import * as twoServers from './two-servers.ts'

export const faults = {
  'kill-at-random': {
    what: 'after kill -9 at random under load, acknowledged tasks end, and charges and payments count once',
    times: { small: 2, short: 4, long: 1000 },
    run: killAtRandom.run,
  },
  'kill-at-sync': {
    what: 'after kill -9 at the Nth sync, for each N, no acknowledged task is lost or paid twice',
    times: { small: 2, short: 4, long: 150 },
    run: killAtSync.run,
  },
  'kill-at-statement': {
    what: 'after kill -9 around any step of a transaction or payload write, no acknowledged task is lost or paid twice',
    times: { small: 2, short: 4, long: 150 },
    run: statementKills.run,
  },
  'postgres-kills': {
    what: 'after kill -9 of a PostgreSQL node at random under load, no acknowledged task is lost or paid twice',
    times: { small: 1, short: 3, long: 100 },
    run: postgresKills.runKills,
  },
  'postgres-crashes': {
    what: 'if PostgreSQL is killed or cuts connections, requests get 503, the node recovers, and no task is lost or paid twice',
    times: { small: 0, short: 2, long: 20 },
    run: postgresKills.runCrashes,
  },
  cluster: {
    what: 'two API nodes and two workers lose no task and run none twice, whichever is killed or paused',
    times: { small: 0, short: 1, long: 1 },
    run: cluster.run,
  },
  'power-loss': {
    what: 'a server started with only the synced data has every acknowledged task and charge',
    times: { small: 1, short: 3, long: 200 },
    run: powerLoss.run,
  },
  'disk-full': {
    what: 'a full disk yields 503 without a charge, reads continue, and the service recovers',
    times: { small: 0, short: 1, long: 10 },
    run: diskFull.run,
  },
  'io-errors': {
    what: 'failing writes and syncs yield 503 without a charge; the service recovers, or exits and recovers',
    times: { small: 0, short: 3, long: 40 },
    run: ioErrors.run,
  },
  'clock-jumps': {
    what: 'if the clock jumps by 25 hours either way, limits, sessions and blocks still work, and tasks end',
    times: { small: 0, short: 1, long: 5 },
    run: clockJumps.run,
  },
  'slow-reader': {
    what: 'a stalled reader of a 50 MB response takes at most 20 MB of memory, and gets all of it later',
    times: { small: 0, short: 1, long: 5 },
    run: slowReader.run,
  },
  cancels: {
    what: 'tasks canceled at random under load leave no running agent, no changed end and one refund each',
    times: { small: 0, short: 150, long: 1000 },
    run: cancels.run,
  },
  'cancels-postgres': {
    what: 'tasks canceled at either of two PostgreSQL nodes leave no running agent, no changed end and one refund each',
    times: { small: 0, short: 100, long: 1000 },
    run: cancels.runPostgres,
  },
  disconnects: {
    what: 'a client that leaves after line k aborts its agent within a second and pays once',
    times: { small: 0, short: 12, long: 100 },
    run: disconnects.run,
  },
  'detached-turns': {
    what: 'after kill -9 during unread turns, each is charged once or failed for free, and can be read to its end',
    times: { small: 0, short: 3, long: 100 },
    run: detachedTurns.run,
  },
  'detached-turns-postgres': {
    what: 'if one of two PostgreSQL nodes is killed during unread turns, each is charged once or failed for free',
    times: { small: 0, short: 2, long: 50 },
    run: detachedTurns.runPostgres,
  },
  'mail-kills': {
    what: 'after kill -9 during requests for links, each committed mail arrives at least once, and no other',
    times: { small: 0, short: 6, long: 1000 },
    run: mailKills.run,
  },
  'mail-kills-postgres': {
    what: 'on PostgreSQL, after kill -9 during requests for links, each committed mail arrives at least once',
    times: { small: 0, short: 6, long: 1000 },
    run: mailKills.runPostgres,
  },
  'rogue-agents': {
    what: 'misbehaving agents fail only their own runs',
    times: { small: 0, short: 1, long: 5 },
    run: rogueRuns.run,
  },
  'mcp-servers': {
    what: 'misbehaving MCP servers fail only their own runs, and leave no process behind',
    times: { small: 0, short: 1, long: 10 },
    run: mcpServers.run,
  },
  connections: {
    what: 'with thousands of idle and slow connections, health responds within a second, under 400 MB',
    times: { small: 0, short: 2000, long: 10_000 },
    run: manyConnections.run,
  },
  overload: {
    what: 'at twice the sustainable load, every request is answered: accepted ones in time, the rest with 503',
    times: { small: 0, short: 1, long: 3 },
    run: overload.run,
  },
  hostile: {
    what: 'during attacks by users and strangers, honest users get responses and the service survives (minutes)',
    // Only in the long form, because even a short form takes minutes on a busy machine.
    times: { small: 0, short: 0, long: 60 },
    run: hostile.run,
  },
  'hostile-postgres': {
    what: 'on PostgreSQL, honest users get responses during attacks and the service survives (minutes)',
    times: { small: 0, short: 0, long: 60 },
    run: hostile.runPostgres,
  },
  'long-load': {
    what: 'during two hours of mixed user activity, resident memory stops growing',
    times: { small: 0, short: 1, long: 120 },
    run: longLoad.run,
  },
  stops: {
    what: 'SIGTERM during tasks and streams drains and exits 0, even if sent twice',
    times: { small: 1, short: 2, long: 50 },
    run: stops.run,
  },
  'two-servers': {
    what: 'a second server on a data directory exits within 2 s, and the first one continues',
    times: { small: 1, short: 1, long: 20 },
    run: twoServers.run,
  },
  'damaged-files': {
    what: 'flipped bytes do not end the process or go undetected in amounts, and errors are clear',
    times: { small: 0, short: 2, long: 100 },
    run: damagedFiles.run,
  },
  backups: {
    what: 'a backup under load restores every task up to its start, complete payloads and a balanced ledger',
    times: { small: 0, short: 2, long: 50 },
    run: backups.run,
  },
  migrations: {
    what: 'a first start or migration killed at any statement completes on the next start; a newer schema is rejected',
    times: { small: 1, short: 4, long: 100 },
    run: migrations.run,
  },
  'migrations-postgres': {
    what: 'on PostgreSQL, a first start or migration killed at any statement completes on the next start',
    times: { small: 0, short: 4, long: 100 },
    run: migrations.runPostgres,
  },
} satisfies Record<string, Fault>

/** Faults covered by other test files. */
export const elsewhere: readonly [fault: string, where: string][] = [
  [
    'providers',
    'test/models/long/model-failures.test.ts, model-leave.test.ts (npm run test:all), test/models/model-overflow.test.ts (npm test)',
  ],
  ['readers that stall', 'test/chat/long/chat-disconnect.test.ts (npm run test:all)'],
  ['failed syncs, call by call', 'test/store/group-commit-faults.test.ts, sqlite-full.test.ts (npm test)'],
  ['the sync before each answer', 'test/runner/sqlite/sync-before-answer.test.ts (npm test)'],
]
