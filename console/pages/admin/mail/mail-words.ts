import type { Mail } from '../../../../client/client.ts'

export const kindNames: Record<Mail['newest'][number]['kind'], string> = {
  invitation: 'Invitation',
  'sign-up': 'Sign-up link',
  'account.exists': 'Account exists',
  password: 'Password reset',
  'balance.low': 'Low balance',
  'payment.succeeded': 'Receipt',
  'payment.refunded': 'Refund',
  'payment.disputed': 'Dispute',
  'webhook.disabled': 'Webhook disabled',
  'key.expiring': 'Expiring key',
}
