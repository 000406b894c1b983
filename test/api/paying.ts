import type { StubEvent } from '../payments/stripe-objects.ts'
import { StripeStub } from '../payments/stripe-stub.ts'
import { startService } from '../support/test-service.ts'
import { signIn } from './signed-in.ts'

export const eventsPath = '/api/payments/stripe/events'
const opened: { stop(): Promise<void> }[] = []

/** Stops what `startPaying` started; call it in `afterEach`. */
export async function stopPaying(): Promise<void> {
  for (const one of opened.splice(0).toReversed()) await one.stop()
}

export async function startPaying(options: Parameters<typeof startService>[0] = {}) {
  const stub = await StripeStub.start()
  opened.push(stub)
  const service = await startService({ payments: stub.settings, ...options })
  opened.push(service)
  const person = await service.createPerson({ balanceUsd: '0' })
  const begin = async (amountUsd = '10.00', body: object = {}) =>
    (await service.post('/api/topups', { amountUsd, ...body }, { key: person.key })).body
  const tell = (event: StubEvent | string, send = {}) => stub.deliver(service.url + eventsPath, event, send)
  const account = async () => (await service.get('/api/account', person.key)).body
  /** Makes a change that requires a browser login. */
  const updateByLogin = async (body: object) => {
    const browser = await signIn(service, person.userId)
    return await browser.request('PATCH', '/api/account', { body })
  }
  return { account, begin, person, service, stub, tell, updateByLogin }
}
