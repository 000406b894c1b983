#!/usr/bin/env node
import process from 'node:process'
import { createClient, isErrandError, type Agent } from '../client.ts'
import { endpointDeclarations } from './endpoint-declarations.ts'

const usage = `Usage: errand-client types URL > errand.d.ts

Writes TypeScript types for the endpoints of a service. Include the file in your project to type tasks.create and
tasks.run for each endpoint. Set ERRAND_API_KEY to an API key that can call these endpoints.
`

const [command, url, ...rest] = process.argv.slice(2)
if (command === '--help' || command === '-h') {
  process.stdout.write(usage)
} else if (command !== 'types' || url === undefined || rest.length > 0) {
  process.stderr.write(usage)
  process.exitCode = 2
} else {
  await writeTypes(url).catch((error: unknown) => {
    process.stderr.write(`errand-client: ${isErrandError(error) ? error.message : String(error)}\n`)
    process.exitCode = 1
  })
}

async function writeTypes(baseUrl: string): Promise<void> {
  const apiKey = process.env['ERRAND_API_KEY']
  if (!apiKey) throw new Error('ERRAND_API_KEY is not set. Set it to an API key with the scope read.')
  const agents: Agent[] = []
  for await (const agent of createClient({ baseUrl, apiKey }).agents.list()) agents.push(agent)
  process.stdout.write(endpointDeclarations(agents, baseUrl))
}
