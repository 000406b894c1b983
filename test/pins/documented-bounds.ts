import type { Checker } from './documented-answers.ts'
import { checkFullAccount } from './documented-people.ts'

/** Exhausts an account's limits on objects and on changes per minute. */
export async function checkBounds(checker: Checker, userId: string): Promise<void> {
  const { service } = checker
  const { writeRate } = service.app.services
  await Promise.allSettled(Array.from({ length: 1000 }, () => service.createKey(userId)))
  await checker.check(409, 'POST /api/keys', { body: { name: 'more', scopes: ['read'] } })
  try {
    for (;;) writeRate.count(userId)
  } catch {
    // The limit on changes per minute is now reached.
  }
  const own = {
    'POST /api/sessions': { agentId: 'gate' },
    'PATCH /api/sessions/ses_0': { metadata: {} },
    'DELETE /api/sessions/ses_0': undefined,
    'POST /api/connectors': { name: 'more', url: 'https://example.com' },
    'PATCH /api/connectors/con_0': { name: 'more' },
    'DELETE /api/connectors/con_0': undefined,
    'POST /api/connectors/con_0/test': {},
    'POST /api/connectors/con_0/sign-in': {},
    'DELETE /api/connectors/con_0/sign-in': undefined,
    'POST /api/webhooks': { url: null },
    'PATCH /api/webhooks/hook_0': { isEnabled: true },
    'DELETE /api/webhooks/hook_0': undefined,
    'POST /api/webhooks/hook_0/test': {},
    'POST /api/webhooks/hook_0/rotate': {},
    'POST /api/webhooks/hook_0/deliveries/evt_0/redeliver': {},
    'POST /api/topups': { amountUsd: '25.00' },
    'PATCH /api/account': { notifyBelowUsd: null },
    'DELETE /api/account/payment-method': undefined,
    'POST /api/keys': { name: 'more', scopes: ['read'] },
    'PATCH /api/keys/key_0': { limitUsd: null },
    'POST /api/keys/key_0/rotate': {},
    'POST /api/client-tokens': {},
    'POST /api/quotes': { task: { endpointId: 'gate.run', params: {} } },
  }
  for (const [request, body] of Object.entries(own)) await checker.check(429, request, { body })
  await checkFullAccount(checker, userId)
}
