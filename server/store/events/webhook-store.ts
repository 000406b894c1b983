import { recorded } from '../audit/audit-commands.ts'
import type { Act } from '../audit/audit-types.ts'
import { platformOwner, type WebhookOf, type WebhookStore } from './webhook-types.ts'
import type { Engine } from '../commands/command.ts'
import * as deliveries from './delivery-commands.ts'
import * as webhooks from './webhook-commands.ts'

function actOn(
  { userId, webhookId }: WebhookOf,
  what: 'created' | 'updated' | 'rotated' | 'deleted',
  change: Record<string, unknown> = {},
): Act {
  const isOfUser = userId !== platformOwner
  return { action: `webhook.${what}`, userId: isOfUser ? userId : null, change: { webhookId, ...change } }
}

export function webhookStore(engine: Engine): WebhookStore {
  return {
    create: (input) =>
      engine.run(
        recorded(
          (tx) => webhooks.createWebhook(tx, input),
          ({ outcome }) => outcome === 'created' && actOn(input, 'created', { types: input.types }),
        ),
        input,
      ),
    get: (of) => engine.read((on) => webhooks.getWebhook(on, of)),
    list: (userId) => engine.read((on) => webhooks.listWebhooks(on, userId)),
    update: (input) =>
      engine.run(
        recorded(
          (tx) => webhooks.updateWebhook(tx, input),
          (webhook) => webhook && actOn(input, 'updated', { fields: Object.keys(input.changes) }),
        ),
        input,
      ),
    rotate: (input) =>
      engine.run(
        recorded(
          (tx) => webhooks.rotateWebhook(tx, input),
          (isRotated) => isRotated && actOn(input, 'rotated'),
        ),
        input,
      ),
    delete: (of) =>
      engine.run(
        recorded(
          (tx) => webhooks.deleteWebhook(tx, of),
          (isDeleted) => isDeleted && actOn(of, 'deleted'),
        ),
        of,
      ),
    cancelDeliveries: (webhookId) => engine.run((tx) => deliveries.cancelDeliveries(tx, webhookId)),
    listDeliveries: (input) => engine.read((on) => deliveries.listDeliveries(on, input), input.userId),
    getDelivery: (of) => engine.read((on) => deliveries.getDelivery(on, of)),
    getSent: (of) => engine.read((on) => deliveries.getSent(on, of)),
    health: (webhookId) => engine.read((on) => deliveries.webhookHealth(on, webhookId)),
    redeliver: (of) => engine.run((tx) => deliveries.redeliver(tx, of)),
    test: (input) => engine.run((tx) => deliveries.recordTest(tx, input)),
    targets: (input) => engine.read((on) => deliveries.dueTargets(on, input)),
    lease: (input) => engine.run((tx) => deliveries.leaseDeliveries(tx, input)),
    end: (attempts) => engine.run((tx) => deliveries.endAttempts(tx, attempts)),
    sealed: (input) => engine.read((on) => webhooks.sealedWebhooks(on, input)),
    reseal: (input) => engine.run((tx) => webhooks.resealWebhook(tx, input)),
  }
}
