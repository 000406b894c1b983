import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, request as sendRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'vitest'
import quickstart from '../../../examples/quickstart/errand.config.ts'
import { must } from '../../../server/kernel/assert.ts'
import { openResources, temporaryFolder } from '../../support/resources.ts'
import { missingCommand, testNeeding } from '../../support/test-needing.ts'
import type { TestPart } from '../../support/test-parts.ts'
import { startService, type TestService } from '../../support/test-service.ts'

// Runs the guide's programs unchanged, behind a proxy that loses the first response and rejects the next request.

const guide = readFileSync(fileURLToPath(new URL('../../../docs/guides/languages.md', import.meta.url)), 'utf8')
const programMsMax = 200_000

type Program = { language: string; file: string; command: string; args: string[]; version: string[] }

const programs: [TestPart, Program][] = [
  ['curl', { language: 'sh', file: 'errand.sh', command: 'sh', args: [], version: ['curl', '--version'] }],
  [
    'python',
    { language: 'python', file: 'errand.py', command: 'python3', args: [], version: ['python3', '--version'] },
  ],
  ['go', { language: 'go', file: 'main.go', command: 'go', args: ['run'], version: ['go', 'version'] }],
]

/** Returns the last block in that language, which is the complete program. */
function programOf(language: string): string {
  const blocks = Array.from(guide.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)).filter(([, own]) => own === language)
  return must(blocks.at(-1)?.[2], `the guide has a program in ${language}`)
}

type Proxy = { url: string; stop: () => Promise<void>; created: () => number }

/** Forwards everything, but drops the response to the first task and answers the next try with 503. */
async function startProxy(service: TestService): Promise<Proxy> {
  const { hostname, port } = new URL(service.url)
  let created = 0
  const server = createServer((asked, response) => {
    const isTask = asked.method === 'POST' && asked.url === '/api/tasks'
    if (isTask && ++created === 2) {
      return void response.writeHead(503, { 'Retry-After': '1' }).end('<h1>No upstream</h1>')
    }
    const { headers, method, url } = asked
    const onward = sendRequest({ hostname, port, method, path: url, headers }, (answer) => {
      if (isTask && created === 1) return void response.destroy()
      response.writeHead(answer.statusCode!, answer.headers)
      answer.pipe(response)
    })
    asked.pipe(onward)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  openResources.add('a proxy')
  const stop = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    openResources.delete('a proxy')
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, stop, created: () => created }
}

for (const [part, { args, command, file, language, version }] of programs) {
  const [known = '', ...rest] = version
  testNeeding(part, missingCommand(known, ...rest))(
    `the ${part} program pays once despite a lost response, and handles a rejection and a chat`,
    async () => {
      const service = await startService({ config: quickstart })
      const proxy = await startProxy(service)
      try {
        const { key } = await service.createPerson()
        const cwd = temporaryFolder('guide')
        writeFileSync(join(cwd, file), programOf(language))
        const { stderr, stdout } = await promisify(execFile)(command, [...args, file], {
          cwd,
          env: {
            ...process.env,
            ERRAND_URL: proxy.url,
            ERRAND_API_KEY: key,
            GOCACHE: join(cwd, 'cache'),
            GO111MODULE: 'off',
          },
          timeout: programMsMax,
          killSignal: 'SIGKILL',
        })
        expect(stdout, stderr).toBe(
          [
            'the task is completed and cost 0.0100 USD',
            'refused with 404 NOT_FOUND',
            'The total of amount by city, over all 2 rows:',
            '- Berlin: 10.5',
            '- Paris: 4.25',
            'the turn cost 0.0005 USD',
            '',
          ].join('\n'),
        )
        expect(proxy.created()).toBe(3)
        const { transactions } = (await service.get('/api/transactions', key)).body
        expect(transactions.map(({ type }: { type: string }) => type)).toEqual(['chat_charge', 'task_charge', 'credit'])
      } finally {
        await proxy.stop()
        await service.stop()
      }
    },
    programMsMax + 20_000,
  )
}
