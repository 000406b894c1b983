import { expect, test } from 'vitest'
import { OAuthClient, type Target } from '../../server/connectors/sign-in/oauth-client.ts'
import type { OAuthRequests } from '../../server/connectors/sign-in/oauth-requests.ts'

const issuer = 'https://issuer.example.com'
const target = {
  userId: 'user_1',
  resource: 'https://mcp.example.com/mcp',
  client: { clientId: 'client', method: 'none', isOwn: true, redirectUri: 'https://errand.example.com/callback' },
  server: { issuer, authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token` },
} as Target

function answering(...answers: object[]): OAuthClient {
  const send = async () => Response.json(answers.shift())
  return new OAuthClient({ send } as unknown as OAuthRequests)
}

test('keeps the previous refresh token if the server returns none', async () => {
  const given = { access_token: 'new', token_type: 'Bearer', expires_in: 60 }
  const oauth = answering(given, { ...given, refresh_token: 'next' })
  const kept = { accessToken: 'new', lifeMs: 60_000 }
  expect(await oauth.refresh(target, 'first')).toEqual({ ...kept, refreshToken: 'first' })
  expect(await oauth.refresh(target, 'first')).toEqual({ ...kept, refreshToken: 'next' })
})
