// Stripe's API and event objects, with only the fields that the service reads.

export type Metadata = Record<string, string>

export type StubSession = {
  id: string
  object: 'checkout.session'
  mode: string
  url: string
  status: 'open' | 'complete' | 'expired'
  payment_status: 'paid' | 'unpaid'
  amount_total: number
  currency: string
  created: number
  customer: string | null
  payment_intent: string | null
  metadata: Metadata
  success_url: string
  cancel_url: string
  intentMetadata: Metadata
  saves: boolean
}
export type StubIntent = {
  id: string
  object: 'payment_intent'
  status: string
  amount: number
  amount_received: number
  currency: string
  customer: string | null
  created: number
  metadata: Metadata
  payment_method: string | null
  setup_future_usage: string | null
  last_payment_error: { code: string; decline_code: string } | null
  latest_charge: StubCharge | null
}
export type StubCharge = {
  id: string
  object: 'charge'
  payment_intent: string
  amount: number
  amount_refunded: number
  disputed: boolean
  currency: string
  receipt_url: string
  metadata: Metadata
}
export type StubRefund = {
  id: string
  object: 'refund'
  payment_intent: string
  amount: number
  currency: string
  status: 'succeeded' | 'pending' | 'failed'
}
export type StubDispute = {
  id: string
  object: 'dispute'
  payment_intent: string
  charge: string
  amount: number
  currency: string
  status: 'needs_response' | 'warning_needs_response' | 'won' | 'lost'
  /** Amounts in the currency of the Stripe balance, which may differ from the payment's. */
  balance_transactions: { amount: number; currency: string }[]
}
export type StubEvent = {
  id: string
  object: 'event'
  type: string
  created: number
  livemode: boolean
  account?: string
  data: { object: unknown }
}
