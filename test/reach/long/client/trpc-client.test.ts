import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startService } from '../../../support/test-service.ts'
import { installTools } from '../../install-tools.ts'
import { installedProject, run } from './client-package.ts'

// A program with `@trpc/client` and superjson, which gets the router's type from the installed package.

const runMsMax = 300_000
const root = join(import.meta.dirname, '../../../..')
const packages = ['@trpc/client', '@trpc/server', 'superjson', 'copy-anything']

const app = `
import { createTRPCClient, httpBatchStreamLink, TRPCClientError } from '@trpc/client'
import type { AppRouter } from 'errand-client/trpc'
import superjson from 'superjson'

declare const process: { env: Record<string, string> }
const headers = { authorization: 'Bearer ' + process.env['ERRAND_API_KEY'] }
const link = httpBatchStreamLink({ url: process.env['BASE_URL'] + '/trpc', transformer: superjson, headers })
const errand = createTRPCClient<AppRouter>({ links: [link] })

const { taskId } = await errand.tasks.create.mutate({ endpointId: 'test.echo', params: { a: 1 } })
const types: string[] = []
for await (const event of await errand.tasks.events.query({ taskId })) types.push(event.type)
const { costUsd, status } = await errand.tasks.get.query({ taskId })
const { balanceUsd } = await errand.account.get.query()
const error: unknown = await errand.agents.get.query({ agentId: 'none' }).catch((thrown: unknown) => thrown)
const code = error instanceof TRPCClientError ? (error as TRPCClientError<AppRouter>).data?.errorCode : undefined
console.log(JSON.stringify([types.at(-1), status satisfies string, costUsd, balanceUsd, code satisfies 'NOT_FOUND' | string | undefined]))

export const wrong = [
  // @ts-expect-error There is no such operation.
  () => errand.tasks.creates.mutate({ endpointId: 'test.echo', params: {} }),
  // @ts-expect-error This operation is a mutation.
  () => errand.tasks.create.query({ endpointId: 'test.echo', params: {} }),
  // @ts-expect-error The params are missing.
  () => errand.tasks.create.mutate({ endpointId: 'test.echo' }),
]
`

test('a plain tRPC client is typed by the package and calls the service', { timeout: runMsMax }, async () => {
  const service = await startService()
  const { key } = await service.createPerson()
  const project = await installedProject({ 'app.ts': app }, { type: 'module' })
  for (const name of packages) {
    cpSync(join(root, 'node_modules', name), join(project, 'node_modules', name), { recursive: true })
  }
  const tools = await installTools('client')
  const options =
    '--strict --exactOptionalPropertyTypes --target es2022 --lib es2022,esnext.disposable,dom,dom.asynciterable --module nodenext --skipLibCheck false'
  for (const compiler of [join(tools, 'typescript59/lib/tsc.js'), join(root, 'node_modules/typescript/bin/tsc')]) {
    await run(process.execPath, [compiler, ...options.split(' '), 'app.ts'], project)
  }
  const { stdout } = await run(process.execPath, ['app.js'], project, { BASE_URL: service.url, ERRAND_API_KEY: key })
  expect(JSON.parse(stdout)).toEqual(['end', 'completed', '0.0100', expect.stringMatching(/^\d+\.\d{4}$/), 'NOT_FOUND'])
  await service.stop()
})
