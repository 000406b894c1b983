import { relative } from 'node:path'
import type { Catalogue, Endpoint } from '../agents/config/catalogue.ts'
import type { App } from '../app/app.ts'

/** `password` is absent once the demo user has changed the generated one. */
export type Demo = { email: string; key: string; password?: string }

type Served = { demo: Demo; configFile: string; isQuickstart: boolean }

export function welcome({ services, url }: App, { configFile, demo, isQuickstart }: Served): string {
  const { email, key, password } = demo
  const { catalogue } = services
  const lines = [
    '',
    `Errand is running at ${url}`,
    '',
    `  Console         ${url}`,
    `  Log in as       ${email} with ${password === undefined ? 'your password' : `the password ${password}`}`,
    `  API key         ${key}`,
    `  API reference   ${url}/docs`,
    `  Agents          ${relative(process.cwd(), configFile)}`,
    ...(isQuickstart ? [`  Language model  ${describeModel(catalogue)}`] : []),
  ]
  const request = (path: string, body: object) =>
    `  curl -sN ${url}${path} -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' -d '${JSON.stringify(body)}'`
  const endpoint = catalogue.agents.flatMap(({ endpoints }) => endpoints)[0]
  if (endpoint) {
    lines.push('', 'Create a task, then read it, replacing TASK_ID with the taskId of the response:', '')
    lines.push(request('/api/tasks', { endpointId: endpoint.id, params: exampleOf(endpoint) }), '')
    lines.push(`  curl -s '${url}/api/tasks/TASK_ID?wait=30' -H 'Authorization: Bearer ${key}'`)
  }
  const partner = catalogue.agents.find(({ chat }) => chat !== null)
  if (partner) {
    lines.push('', 'Create a session, then chat in it, replacing SESSION_ID with the sessionId of the response:', '')
    lines.push(request('/api/sessions', { agentId: partner.id }), '')
    const message = isQuickstart ? table : 'Hello'
    lines.push(request('/api/chat', { sessionId: 'SESSION_ID', message }))
  }
  return lines.join('\n')
}

const table = 'city,amount\nBerlin,10.50\nParis,4.25\nBerlin,2.25\n\nWhat is the total amount by city?'

function describeModel(catalogue: Catalogue): string {
  if (catalogue.agent('model')) return 'the agent "model"; its endpoint is model.draft'
  return 'none: set OPENAI_API_KEY, ANTHROPIC_API_KEY, or ERRAND_MODEL_BASE_URL and ERRAND_MODEL_NAME (Ollama, vLLM …), and start again'
}

/** Returns the first of the `examples` in the params schema. */
function exampleOf({ id, paramsJsonSchema }: Endpoint): unknown {
  if (id === 'text.summarize') {
    const text = 'Errand runs agents. Each task is charged when it is created. A task that fails is refunded in full.'
    return { text, sentences: 1 }
  }
  const { examples } = paramsJsonSchema
  return Array.isArray(examples) && examples.length > 0 ? examples[0] : {}
}
