import { ConfigError } from '../kernel/settings.ts'

export type PaymentSettings = {
  secretKey: string
  webhookSecret: string
  apiUrl?: string
  returnOrigins: readonly string[]
}

type PaymentVariables = Record<'apiUrl' | 'returnOrigins' | 'secretKey' | 'webhookSecret', string>

/** Returns undefined if neither secret is set, which disables payments. Unset variables are empty strings. */
export function checkPayments({ apiUrl, returnOrigins, secretKey, webhookSecret }: PaymentVariables) {
  if (secretKey === '' && webhookSecret === '') return undefined
  if (webhookSecret === '') {
    throw new ConfigError('ERRAND_STRIPE_WEBHOOK_SECRET: must be set if ERRAND_STRIPE_SECRET_KEY is set')
  }
  if (!/^[sr]k_(?:test|live)_\w+$/.test(secretKey)) {
    throw new ConfigError('ERRAND_STRIPE_SECRET_KEY: must begin with sk_test_, sk_live_, rk_test_ or rk_live_')
  }
  if (!/^whsec_\S+$/.test(webhookSecret)) {
    throw new ConfigError('ERRAND_STRIPE_WEBHOOK_SECRET: must begin with whsec_')
  }
  if (apiUrl !== '' && !/^https?:\/\/[^/?#\s@]+$/.test(apiUrl)) {
    throw new ConfigError('ERRAND_STRIPE_API_URL: must be an http or https URL without a path')
  }
  const origins = returnOrigins
    .split(',')
    .map((origin) => origin.trim())
    .filter((origin) => origin !== '')
  for (const origin of origins) {
    if (!/^https?:/.test(origin) || URL.parse(origin)?.origin !== origin) {
      throw new ConfigError(
        `ERRAND_PAYMENT_RETURN_ORIGINS: "${origin}" must be an origin such as https://app.example.com`,
      )
    }
  }
  const settings: PaymentSettings = { secretKey, webhookSecret, returnOrigins: origins }
  return apiUrl === '' ? settings : { ...settings, apiUrl }
}
