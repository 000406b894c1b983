/** `small` is `npm test`; `all` is everything, at full length. */
export type Tier = 'small' | 'all'

export const tierVariable = 'ERRAND_TESTS_TIER'

/** The tier of this run. Files named on vitest's own command line run at full length. */
export function currentTier(): Tier {
  return process.env[tierVariable] === 'small' ? 'small' : 'all'
}

/** The first value in the small tier, the second in `all`. */
export function ofTier<Value>(small: Value, all: Value): Value {
  return currentTier() === 'small' ? small : all
}

/**
 * Maximum duration of a run and of each file on an idle machine with two cores. A quarter above the intended 6 and 20
 * minutes, because machines differ.
 */
export const budgets: Record<Tier, { runSeconds: number; fileSeconds: number }> = {
  small: { runSeconds: 450, fileSeconds: 90 },
  all: { runSeconds: 1500, fileSeconds: 300 },
}

/** Runs are aborted after this time, however busy the machine is. */
export const runSecondsMax: Record<Tier, number> = { small: 2700, all: 5000 }

/**
 * Files that run only in `npm run test:all`, and the tests that cover the same code in `npm test`. Money, admission,
 * recovery, ownership and the contract are never listed here; `smallPostgres` has the part of them that runs on
 * PostgreSQL.
 */
export const onlyInAll: Record<string, string> = {
  'test/faults/fault-{agents,clients,crashes,disks}.test.ts':
    'kills, loads, floods, full disks and damage at length; crash-recovery and the simulation have kills, and each other rule a test',
  'test/e2e/{admin-invitations,admin-platform-keys,admin-system,admin-user-access,admin-users,agents-files,agents-form,agents-refused,agents-run,ai-sdk-example,billing,billing-receipt,billing-topups,chat-budget,chat-errors,chat-files,chat-keyboard,chat-logout,chat-lost,chat-sessions,chat-streaming,chat-tabs,honest-pages,login,overview,overview-live,product-example,readme-pictures,second-origin,second-origin-package,settings-account,settings-connectors,settings-keys,settings-limits,settings-webhooks,shell,shell-*,tasks,tasks-*}.test.ts':
    'more of the pages whose journeys the other browser files make; what they call is tested in api and client',
  'test/reach/client/*.test.ts':
    'the packed client in every runtime, compiler and kind of app; what it does is tested in client, from its sources',
  'test/store/sqlite-dead-rows.test.ts':
    'what each statement reads beside 60,000 rows of every table; sqlite-plans has the indexes that they use',
  'test/store/sqlite-window-history.test.ts':
    'a hundred thousand operations under limits on what is spent; the contract has shorter histories on every engine',
  'test/reach/package/*.test.ts':
    'the packed server, its image and unit, and the scripts of a clone; what they start is tested from its sources',
  'test/moving/refused-transfers.test.ts': 'refusals of commands that run once',
  'test/runner/{bad-starts,cli-usage,long-runs,stubborn-runs}.test.ts':
    'words of the command line, and runs over minutes; kills, drains and ended threads are in the files beside them',
  'test/mcp/mcp-{callers,returns,tasks}.test.ts':
    "credentials, tasks and returning clients of MCP, whose rules are api's and runner's; mcp-money has its charges, mcp-messages what is refused",
  'test/nodes/shared-openai-client.test.ts':
    "OpenAI's own client, whose installation takes a while; shared-repeats sends the same requests",
  'test/nodes/schema-upgrades.test.ts':
    'a new version beside nodes of an old one; postgres-opening has which schemas a node starts with',
  'test/connectors/{crossed-answers,remote-connectors}.test.ts':
    'answers and servers of every kind, one beside the other; run-ends and run-money have what they cost',
  'test/nodes/shared-tools.test.ts':
    'tools that are called at one node and run on another, as tasks do in shared-cancels and shared-waits',
  'test/models/model-quickstart.test.ts':
    'what the example does with each provider; model-tasks and model-chat have the rules',
  'test/connectors/{guarded-streams,run-bad-http,run-bad-stdio,run-secrets,run-tool-names}.test.ts':
    'every kind of a bad server; run-ends and run-defects have what they cost, guarded-fetch where they may be',
  'test/sign-ins/{grant-refresh,rogue-authorization}.test.ts':
    'authorization servers that are slow, forget or answer wrongly; sign-in has what a run meets, and who may finish one',
  'test/property/valid-requests.test.ts':
    'valid requests at random; broken-fields has each operation, openapi-promises what is answered',
  'test/api/{bad-large-bodies,login-throttle}.test.ts':
    'large and slow bodies, and guesses of passwords; http-raw-requests has the bounds of bodies, shared-limits the guesses over nodes',
  'test/models/model-failures.test.ts':
    'every failure of a provider; model-money and model-leave have what a failed or cut reply costs',
  'test/moving/round-trip.test.ts': 'a command that runs once; carried-tables has what it takes along',
  'test/property/{broken-frames,broken-senders,broken-wire,linear-connectors,linear-work}.test.ts':
    'broken requests of a kind; broken-fields has one of each field, and openai the refusals of its wire',
  'test/runner/http-agent-{connections,python}.test.ts':
    'the wire of agents in other languages; http-agent-tasks has their money',
  'test/store/sqlite-log-damage.test.ts': 'every flipped bit of a log; sqlite-integrity has what is done about one',
  'test/reach/docs-site.test.ts':
    'the documentation as a site, whose packages take a while to install; doc-links has every link of its pages',
  'test/reach/{language,webhook}-guide.test.ts':
    'the programs of guides; what they call is tested in api, chat and webhooks',
  'test/e2e/api-reference.test.ts':
    'the reference in a browser; its document is in openapi-lint and -promises, its files in api/docs',
  'test/client/ai-transport.test.ts':
    "the chat of `ai` over our transport; what becomes of a reply's events is in ai-streams, and streams are in chat-resume",
  'test/reach/webhook-libraries.test.ts':
    "others' libraries that verify events; our own is tested in client, and what is sent in webhooks",
  'test/reach/mcp-sign-ins.test.ts':
    "the protocol's suite as a connector's server; the sign-in itself, and more of an authorization server's, is in sign-ins",
  'test/chat/kept-replies.test.ts':
    'replies over a kill; chat-restarts has their money, chat-resume the streams, and the contract what is kept',
  'test/chat/reply-memory.test.ts': 'a hundred megabytes of replies; kept-reply and kept-turns have the bounds of one',
  'test/chat/file-memory.test.ts':
    'megabytes of files of many requests; chat-attachments has what is taken and refused of each',
  'test/connectors/{host-lookup,process-bounds,stdio-transport}.test.ts':
    'lookups, bounds and wires of servers; run-ends and run-money have what they cost, guarded-fetch where they may be',
  'test/api/http-connections.test.ts':
    'kept, slow and broken connections; http-raw-requests has what is refused, overload what is turned away',
  'test/runner/{blocked-thread,cli-beside-server,cli-secret}.test.ts':
    'a thread that computes, and commands that run once or beside a server; thread-ends, drain and vault have their rules',
  'test/api/silent-streams.test.ts': 'comments of a silent stream; what streams say is in chat-resume and openai',
  'test/api/system.test.ts': 'what admins see of the service; who may see it is in operations-by-credential',
  'test/webhooks/webhook-fairness.test.ts':
    'slow receivers of one user beside those of another; webhook-deliveries and contract-deliveries have what is sent',
  'test/runner/task-progress.test.ts':
    'how often progress is kept and told; task-events and the contract have the rest',
  'test/unit/body-pieces.test.ts': 'the memory that a body in small pieces takes; bodies are in api/bad-large-bodies',
  'test/reach/mcp-suites.test.ts':
    "others' clients of MCP, and the protocol's suite; the SDK's own client and all that is refused are in mcp",
  'test/openai/{sdk-clients,wire-files}.test.ts':
    "files over OpenAI's wire; their checks, holds and what is kept of them are in chat-attachments, and turns without a session in the contract",
  'test/reach/openai-client.test.ts':
    "OpenAI's own client in 27 calls; what it calls is tested in openai, and with the AI SDK in models",
  'test/reach/openapi-tools.test.ts':
    'clients that four generators make of the document; its form and what a service answers are in openapi-lint and -promises',
  'test/webhooks/webhook-resends.test.ts':
    'an attempt that waits for the lease of the one before; contract-deliveries has the lease',
  'test/unit/quickstart-*.test.ts': 'the example agents',
  'test/faults/fault-databases.test.ts':
    'nodes and their database that are killed under load; crash-recovery and chat-restarts have what becomes of work, on both engines',
  'test/faults/fault-starts.test.ts':
    'kills of a start, of one of two servers and of a migration; crash-recovery kills at work, data-directory-owner has two servers',
  'test/unit/lease-keeper.test.ts':
    'how a node keeps its leases; postgres-leases has what they guard, nodes what nodes do',
  'test/pins/largest-answers.test.ts': 'bounds that the document promises of answers; openapi-promises has their form',
  'test/api/bad-random-requests.test.ts': 'broken requests at random; broken-fields has one of each field',
  'test/connectors/run-everything.test.ts':
    "the protocol's reference server; run-money and run-ends have what runs cost",
  'test/runner/{http-agent-service,task-memory}.test.ts':
    'an agent of a service, and the memory that tasks take; http-agent-tasks has their money',
  'test/unit/turn-files.test.ts':
    'bounds of files in memory, with hundreds of megabytes; chat-attachments has their rules',
}

/** Files for both engines that `npm test` also runs on PostgreSQL. */
export const smallPostgres: readonly string[] = [
  'test/api/{abuse-block,account,account-bounds,bad-foreign-ids,create-task,errand-user,external-users,foreign-owners,get-task,idempotency,keys,platform-credit,rate-limit,sessions,transactions,users-credit}.test.ts',
  'test/chat/{chat-admission,chat-idempotency,chat-line,chat-money,chat-restarts,chat-steps}.test.ts',
  'test/nodes/*.test.ts',
  'test/runner/{crash-recovery,drain,endpoint-gone,fair-queue}.test.ts',
  'test/store/postgres-{connectors,leases,opening,queue,sessions,store}.test.ts',
]
