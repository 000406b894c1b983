import { expect, test } from 'vitest'
import { check, createConnector, createOwner, signIn } from '../../sign-ins/sign-in-world.ts'
import { OAuthServer } from '../../sign-ins/oauth-server.ts'
import { startProtectedServer } from '../../sign-ins/protected-server.ts'
import { startNodes } from '../start-nodes.ts'

test('nodes refresh an expired access token once, even if many runs need it simultaneously', async () => {
  const oauth = await OAuthServer.start({ tokenSeconds: 4 })
  // Access tokens issued so far. All must have expired before the refresh, including those of connectors not used yet.
  const issued: string[] = []
  oauth.change = (text) => {
    issued.push((JSON.parse(text) as { access_token: string }).access_token)
    return ['application/json', text]
  }
  const mcp = await startProtectedServer({ issuer: () => oauth.issuer })
  mcp.check = (token) => oauth.isGood(token, mcp.url)
  const options = { privateHosts: ['127.0.0.1'], limits: { connectorChecksPerMinute: 0 } }
  const { nodes, stop } = await startNodes(options, options)
  const [one, two] = [nodes[0]!, nodes[1]!]
  const owner = await createOwner(one)
  const connectorIds = await Promise.all([1, 2, 3].map(() => createConnector({ mcp, service: one }, owner)))
  // Signs in on one node; the other node can use the tokens immediately.
  for (const connectorId of connectorIds) await signIn(one, owner, connectorId)
  expect(await check(two, owner, connectorIds[0]!)).toMatchObject({ status: 'ok' })
  const goodOnes = async () => (await Promise.all(issued.map((token) => oauth.isGood(token, mcp.url)))).filter(Boolean)
  await expect.poll(goodOnes, { timeout: 10_000, interval: 100 }).toEqual([])
  const before = oauth.grants.length
  // Extends the lifetime, because on a busy machine the checks take longer than four seconds.
  oauth.tokenSeconds = 600
  // Delays the refresh, so that all requests arrive during it.
  oauth.hold = () => new Promise((resolve) => setTimeout(resolve, 300))
  const found = await Promise.all(
    connectorIds.flatMap((connectorId) => [one, two].map((node) => check(node, owner, connectorId))),
  )
  expect(found.map(({ status }) => status)).toEqual(Array.from({ length: 6 }, () => 'ok'))
  // A second exchange of the same token would have revoked the grant.
  expect(oauth.grants.slice(before)).toEqual(['refresh_token 200', 'refresh_token 200', 'refresh_token 200'])
  oauth.hold = undefined
  await stop()
  await mcp.stop()
  await oauth.stop()
})
