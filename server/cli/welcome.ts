import { relative } from 'node:path'
import type { Catalogue, Endpoint } from '../agents/config/catalogue.ts'
import type { App } from '../app/app.ts'
import { environment } from '../app/config.ts'
import { sampleParams } from './sample-params.ts'

/** `password` is absent if the demo user has changed the generated one. */
export type Demo = { email: string; key: string; password?: string }

type Served = { demo: Demo; configFile: string; isQuickstart: boolean }

export function welcome({ baseUrl: url, services }: App, { configFile, demo, isQuickstart }: Served): string {
  const { email, key, password } = demo
  const { catalogue } = services
  const lines = [
    `Errand is running at ${url}`,
    '',
    `  Console         ${url}`,
    `  Log in as       ${email} with ${password === undefined ? 'your password' : `the password ${password}`}`,
    `  API key         ${key}`,
    `  API reference   ${url}/docs`,
    `  Agents          ${relative(process.cwd(), configFile)}`,
    ...(isQuickstart ? [`  Language model  ${describeModel(catalogue)}`] : []),
  ]
  const endpoint = catalogue.agents.flatMap(({ endpoints }) => endpoints)[0]
  const partner = catalogue.agents.find(({ chat }) => chat !== null)
  if (!endpoint && !partner) return lines.join('\n')
  const headers = `-H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json'`
  lines.push('', 'Try it in another terminal:', '')
  lines.push(`  api() { to=$1; shift; curl -sN -w '\\n' "${url}$to" ${headers} "$@"; }`)
  if (endpoint) {
    const task = { endpointId: endpoint.id, params: exampleOf(endpoint) }
    lines.push('', `  TASK=$(api /api/tasks -d ${quote(task)} | ${pick('taskId')})`)
    lines.push('  api "/api/tasks/$TASK?wait=30"')
  }
  if (partner) {
    const turn = { sessionId: 'SESSION', message: isQuickstart ? table : 'Hello' }
    lines.push('', `  SESSION=$(api /api/sessions -d ${quote({ agentId: partner.id })} | ${pick('sessionId')})`)
    lines.push(`  api /api/chat -d ${quote(turn).replace('SESSION', `'$SESSION'`)}`)
  }
  return lines.join('\n')
}

function quote(body: object): string {
  return `'${JSON.stringify(body).replaceAll("'", `'\\''`)}'`
}

/**
 * Returns a shell pipeline that extracts a string field from a JSON response. It also prints the response, so that
 * errors are visible.
 */
function pick(field: string): string {
  return `tee /dev/stderr | sed 's/.*"${field}":"//; s/".*//'`
}

const table = 'city,amount\nBerlin,10.50\nParis,4.25\nBerlin,2.25\n\nWhat is the total amount by city?'

function describeModel(catalogue: Catalogue): string {
  const names = ['ERRAND_MODEL_BASE_URL', 'OPENAI_API_KEY', 'ANTHROPIC_API_KEY']
  if (catalogue.agent('model')) {
    return `the agent "model", from ${names.find((name) => environment()[name])}; its endpoint is model.draft`
  }
  return 'none: set OPENAI_API_KEY, ANTHROPIC_API_KEY, or ERRAND_MODEL_BASE_URL and ERRAND_MODEL_NAME (Ollama, vLLM …), and start again'
}

function exampleOf({ id, paramsJsonSchema }: Endpoint): unknown {
  if (id === 'text.summarize') {
    const text = 'Errand runs agents. Each task is charged when it is created. A task that fails is refunded in full.'
    return { text, sentences: 1 }
  }
  return sampleParams(paramsJsonSchema)
}
