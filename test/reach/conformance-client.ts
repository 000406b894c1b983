import { setTimeout as sleep } from 'node:timers/promises'

// The client under test in the protocol's suite: a user of a service, who adds the suite's server as a connector, signs
// in with a browser, and runs a task that calls its first tool. It signs in again whenever the server requires it.

const { ERRAND_URL: service = '', ERRAND_KEY: key, ERRAND_LOGIN: login } = process.env
const scenario = process.env['MCP_CONFORMANCE_SCENARIO'] ?? ''
const given: { client_id?: string; client_secret?: string } = JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}')
const roundsMax = 4

async function ask(method: string, path: string, body?: object): Promise<any> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const sent = { method, headers, ...(body && { body: JSON.stringify(body) }) }
  const answer = await fetch(`${service}/api${path}`, sent)
  const json: any = await answer.json()
  // Retries, because the number of concurrent checks per user is limited and the suite runs all of its cases.
  if (answer.status === 409) return await sleep(200).then(() => ask(method, path, body))
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${json.message}`)
  return json
}

/** The browser shows the result of a sign-in. */
async function signIn(connectorId: string): Promise<void> {
  const { authorizationUrl } = await ask('POST', `/connectors/${connectorId}/sign-in`, {})
  let next = new URL(authorizationUrl)
  while (next.pathname !== '/settings/connectors') {
    const headers: Record<string, string> = next.origin === service ? { cookie: `errand=${login}` } : {}
    const page = await fetch(next, { redirect: 'manual', headers })
    const { location } = Object.fromEntries(page.headers)
    if (location === undefined) throw new Error(`${next.href}: ${page.status} ${await page.text()}`)
    next = new URL(location, next)
  }
  const { statusMessage } = await ask('GET', `/connectors/${connectorId}`)
  const end = next.searchParams.get('signIn')
  if (end !== 'done') throw new Error(`The sign-in ended so: ${end}. ${statusMessage}`)
}

async function callTool(connectorId: string): Promise<void> {
  const { tools } = await ask('GET', `/connectors/${connectorId}/tools`)
  const params = { calls: [{ name: tools[0].name }] }
  const { taskId } = await ask('POST', '/tasks', { endpointId: 'code.call', params, connectorIds: [connectorId] })
  let task: any
  do task = await ask('GET', `/tasks/${taskId}?wait=20`)
  while (!['completed', 'failed', 'cancelled'].includes(task.status))
  if (task.status !== 'completed') throw new Error(`The task ${task.status}: ${task.error?.message}`)
  console.log(JSON.stringify(task.response.answers))
}

const url = process.argv.at(-1)!
const auth = {
  type: 'oauth',
  ...(given.client_id !== undefined && { clientId: given.client_id }),
  ...(given.client_secret !== undefined && { clientSecret: given.client_secret }),
}
const { id } = await ask('POST', '/connectors', { name: `${scenario} ${process.pid}`, url, auth })
await signIn(id)
for (let round = 1; ; round++) {
  try {
    await callTool(id)
    break
  } catch (error) {
    const { status } = await ask('GET', `/connectors/${id}`)
    if (round === roundsMax || status !== 'needs_sign_in') throw error
    console.error(`${error}`)
    await signIn(id)
  }
}
