import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadConfigFile } from '../../server/agents/config/load-config-file.ts'
import { startService, type TestService } from '../support/test-service.ts'
import { unlimited } from './task-checks.ts'

/** Content of a project, whose agent answers with `version`. */
export type Version = {
  version: string
  priceUsd?: string
  endpoints?: readonly string[]
  rest?: string
  atLoad?: string
}

/** Writes errand.config.ts and the module of its agent, and returns the path of the former. */
export function writeProject(
  folder: string,
  { version, priceUsd = '0.0100', endpoints = ['tell', 'hold'], rest = '', atLoad = '' }: Version,
): string {
  mkdirSync(join(folder, 'agents'), { recursive: true })
  writeFileSync(
    join(folder, 'agents/desk.ts'),
    `import { existsSync, writeFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { isMainThread } from 'node:worker_threads'
import { z } from 'zod'
${atLoad}
const version: string = '${version}'
const held = async ({ begun, release }: { begun: string; release: string }) => {
  writeFileSync(begun, '')
  while (!existsSync(release)) await pause(5)
}
const params = z.record(z.string(), z.unknown())
const tell = { description: 'Tells.', priceUsd: '${priceUsd}', params, run: () => ({ version, isMainThread }) }
const run = async ({ params }: { params: any }) => (await held(params), { version })
const hold = { description: 'Waits.', priceUsd: '${priceUsd}', params, run }
export const desk = {
  kind: 'code',
  id: 'desk',
  name: 'Desk',
  endpoints: { ${endpoints.join(', ')} },
  chat: {
    contextTokens: 1000,
    maxOutputTokens: 100,
    pricing: { inputPer1kUsd: '0.1', outputPer1kUsd: '0.1' },
    async *reply({ message }: { message: string }) {
      if (message.startsWith('{')) await held(JSON.parse(message))
      yield { type: 'text', delta: version }
    },
  },
}
`,
  )
  const file = join(folder, 'errand.config.ts')
  writeFileSync(file, `import { desk } from './agents/desk.ts'\nexport default { agents: [desk], ${rest} }\n`)
  return file
}

/** Starts a service with agent threads that run the project. */
export async function startProject(folder: string, version: Version, limits: object = {}): Promise<TestService> {
  const configFile = writeProject(folder, version)
  const config = await loadConfigFile(configFile)
  return await startService({ config, configFile, limits: { ...unlimited, ...limits } })
}
