import type { WebhookStore } from './webhook-types.ts'
import type { Engine } from '../commands/command.ts'
import * as deliveries from './delivery-commands.ts'
import * as webhooks from './webhook-commands.ts'

export function webhookStore(engine: Engine): WebhookStore {
  return {
    create: (input) => engine.run((tx) => webhooks.createWebhook(tx, input), input),
    get: (of) => engine.read((on) => webhooks.getWebhook(on, of)),
    list: (userId) => engine.read((on) => webhooks.listWebhooks(on, userId)),
    update: (input) => engine.run((tx) => webhooks.updateWebhook(tx, input), input),
    rotate: (input) => engine.run((tx) => webhooks.rotateWebhook(tx, input), input),
    delete: (of) => engine.run((tx) => webhooks.deleteWebhook(tx, of), of),
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
