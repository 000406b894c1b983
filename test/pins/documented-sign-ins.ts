import { PlatformCalls } from '../api/platform-calls.ts'
import { closedUrl } from '../api/stub-mcp-server.ts'
import { TestBrowser } from '../login/oidc-browser.ts'
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

/** Finishes and fails sign-ins that a product started for its user. */
export async function checkProductSignIns(checker: Checker): Promise<void> {
  const { service } = checker
  const oauth = await OAuthServer.start()
  const mcp = await startProtectedServer({ issuer: () => oauth.issuer })
  const platform = await PlatformCalls.open(service)
  const { id: userId } = (await platform.openUser('signer')).body
  const acting = { key: platform.key, headers: { 'Errand-User': userId } }
  const connector = { name: 'signed', url: mcp.url, auth: { type: 'oauth' } }
  const { id } = (await checker.check(200, 'POST /api/connectors', { ...acting, body: connector })).body
  const signIn = `/api/connectors/${id}/sign-in`
  const returnUrl = 'https://shop.example.com/connected'
  const comeBack = async (): Promise<string> => {
    const begun = (await checker.check(200, `POST ${signIn}`, { ...acting, body: { returnUrl } })).body
    const until = ({ origin }: URL) => origin === 'https://shop.example.com'
    const { next } = await new TestBrowser().visit(begun.authorizationUrl, { until })
    return next!.searchParams.get('signIn')!
  }
  const finish = (status: number, answer: string, path = signIn) =>
    checker.check(status, `PUT ${path}`, { ...acting, body: { signIn: answer } })
  const rejected = new URLSearchParams(await comeBack())
  rejected.delete('code')
  rejected.set('error', 'access_denied')
  await finish(424, rejected.toString())
  const answer = await comeBack()
  await finish(200, answer)
  await finish(409, answer)
  await finish(400, '')
  await finish(404, answer, '/api/connectors/con_0/sign-in')
  await finish(413, 'x'.repeat(20_000))
  const headers = { ...acting.headers, 'Content-Type': 'text/plain' }
  await checker.check(415, `PUT ${signIn}`, { ...acting, body: '{}', headers })
  try {
    for (;;) service.app.services.writeRate.count(userId)
  } catch {
    // The limit on changes per minute is now reached.
  }
  await finish(429, answer)
  await service.app.store.platform.revokeKey(platform.keyId)
  await mcp.stop()
  await oauth.stop()
}
