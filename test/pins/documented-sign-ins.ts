import { closedUrl } from '../api/stub-mcp-server.ts'
import { OAuthServer } from '../sign-ins/oauth-server.ts'
import { startProtectedServer } from '../sign-ins/protected-server.ts'
import type { Checker } from './documented-answers.ts'

type Rest = { other: string; task: object }

/**
 * Starts two sign-ins, one of which fails. The other responses are checked once the user may not start more sign-ins.
 */
export async function checkSignIns(checker: Checker) {
  const oauth = await OAuthServer.start()
  const mcp = await startProtectedServer({ issuer: () => oauth.issuer })
  const create = async (name: string, url: string) => {
    const body = { name, url, auth: { type: 'oauth' } }
    return (await checker.check(200, 'POST /api/connectors', { body })).body.id as string
  }
  const id = await create('signed', mcp.url)
  const signed = `/api/connectors/${id}/sign-in`
  await checker.check(200, `POST ${signed}`, { body: {} })
  await checker.check(424, `POST /api/connectors/${await create('lost', await closedUrl())}/sign-in`, { body: {} })
  await mcp.stop()
  await oauth.stop()
  const checkRest = async ({ other, task }: Rest) => {
    await checker.check(429, `POST ${signed}`, { body: {} })
    await checker.check(200, `DELETE ${signed}`)
    await checker.check(400, `DELETE ${other}/sign-in`)
    await checker.check(404, 'DELETE /api/connectors/con_0/sign-in')
    await checker.check(404, 'POST /api/connectors/con_0/sign-in', { body: {} })
    await checker.check(400, `POST /api/connectors/${'x'.repeat(201)}/sign-in`, { body: {} })
    await checker.check(413, `POST ${signed}`, { body: { name: 'x'.repeat(20_000) } })
    await checker.check(415, `POST ${signed}`, { body: '{}', headers: { 'Content-Type': 'text/plain' } })
    const session = { agentId: 'gate', connectorIds: [id] }
    const { sessionId } = (await checker.check(200, 'POST /api/sessions', { body: session })).body
    await checker.check(424, 'POST /api/tasks', { body: { ...task, connectorIds: [id] } })
    await checker.check(424, 'POST /api/chat', { body: { sessionId, message: 'hello' } })
  }
  return { checkBusy: () => checker.check(409, `POST ${signed}`, { body: {} }), checkRest }
}
