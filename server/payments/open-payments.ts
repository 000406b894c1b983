import type { PaymentPort } from './payment-port.ts'
import type { PaymentSettings } from './payment-settings.ts'

/** Loads the provider's package only if it is used. */
export async function openPayments(settings: PaymentSettings | undefined): Promise<PaymentPort | undefined> {
  if (!settings) return undefined
  const { openStripe } = await import('./stripe-port.ts')
  return openStripe(settings)
}
