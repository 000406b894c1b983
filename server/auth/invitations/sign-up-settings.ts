import type { Catalogue } from '../../agents/config/catalogue.ts'
import { parseUsd } from '../../kernel/money.ts'
import { ConfigError } from '../../kernel/settings.ts'
import type { Newcomer } from '../../store/access/people-types.ts'

export type SignUpSettings = {
  isOpen: boolean
  /** Email domains that can sign up, in lower case. Null for all. */
  domains: readonly string[] | null
  /** Plan and credit for accounts created by email or at a user's first single sign-on. */
  newcomer: Newcomer
}

export const closedSignUp: SignUpSettings = { isOpen: false, domains: null, newcomer: { plan: null, credit: 0 } }

type SignUpVariables = Record<'mode' | 'domains' | 'plan' | 'creditUsd', string> & { sendsMail: boolean }

/** Unset variables are empty strings. */
export function checkSignUp({ creditUsd, domains, mode, plan, sendsMail }: SignUpVariables): SignUpSettings {
  if (mode !== 'off' && mode !== 'email') throw new ConfigError('ERRAND_SIGN_UP: must be off or email')
  const isOpen = mode === 'email'
  if (isOpen && !sendsMail) throw new ConfigError('ERRAND_SMTP_URL: must be set if ERRAND_SIGN_UP is email')
  if (!isOpen && domains !== '') {
    throw new ConfigError('ERRAND_SIGN_UP: must be email if ERRAND_SIGN_UP_DOMAINS is set')
  }
  const list = domains.split(',').map((domain) => domain.trim().toLowerCase())
  const invalid = list.find((domain) => domains !== '' && !/^(?:[a-z\d-]{1,63}\.)+[a-z\d-]{2,63}$/.test(domain))
  if (invalid !== undefined) {
    throw new ConfigError(`ERRAND_SIGN_UP_DOMAINS: "${invalid}" must be a domain such as example.com`)
  }
  const credit = /^\d{1,6}(?:\.\d{1,4})?$/.test(creditUsd) ? parseUsd(creditUsd) : undefined
  if (credit === undefined) {
    throw new ConfigError('ERRAND_SIGN_UP_CREDIT_USD: must be a USD amount below 1000000 with at most four decimals')
  }
  return { isOpen, domains: domains === '' ? null : list, newcomer: { plan: plan || null, credit } }
}

export function assertNewcomerPlan({ newcomer: { plan } }: SignUpSettings, { plans }: Pick<Catalogue, 'plans'>): void {
  if (plan !== null && !plans.named.has(plan)) {
    throw new ConfigError(`ERRAND_SIGN_UP_PLAN: "${plan}" must be the name of a plan in plans`)
  }
}
