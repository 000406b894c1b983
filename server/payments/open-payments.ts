import type { PaymentPort } from './payment-port.ts'
import type { PaymentSettings } from './payment-settings.ts'

/** Imports the Stripe package only if payments are configured. */
export async function openPayments(settings: PaymentSettings | undefined): Promise<PaymentPort | undefined> {
  if (!settings) return undefined
  const { openStripe } = await import('./stripe-port.ts')
  return openStripe(settings)
}
