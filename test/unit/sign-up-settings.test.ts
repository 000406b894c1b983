import { expect, test } from 'vitest'
import { resolveSignUp } from '../../server/app/config.ts'
import { assertNewcomerPlan, closedSignUp } from '../../server/auth/invitations/sign-up-settings.ts'

const mail = { ERRAND_SMTP_URL: 'smtp://mail.example', ERRAND_MAIL_FROM: 'a@b.example' }

test('reads the settings of sign-up, which is closed by default', () => {
  for (const env of [{}, { ERRAND_SIGN_UP: '' }, { ERRAND_SIGN_UP: 'off', ERRAND_SIGN_UP_CREDIT_USD: '' }])
    expect(resolveSignUp(env)).toEqual(closedSignUp)
  const newcomer = { ERRAND_SIGN_UP_PLAN: 'trial', ERRAND_SIGN_UP_CREDIT_USD: '2.5' }
  expect(resolveSignUp(newcomer)).toEqual({ ...closedSignUp, newcomer: { plan: 'trial', credit: 25_000 } })
  const open = { ...mail, ...newcomer, ERRAND_SIGN_UP: 'email', ERRAND_SIGN_UP_DOMAINS: 'Example.com, b.example' }
  expect(resolveSignUp(open)).toMatchObject({ isOpen: true, domains: ['example.com', 'b.example'] })
})

const wrongDomains = ['a', '@a.example', 'a.example,', 'a b.example', '*.example']
const wrongCredits = ['-1', '1.23456', 'five', '1e3', '1000000']
const wrong: [Record<string, string>, string][] = [
  [{ ERRAND_SIGN_UP: 'on' }, 'ERRAND_SIGN_UP: must be off or email'],
  [{ ERRAND_SIGN_UP: 'email' }, 'ERRAND_SMTP_URL: must be set if ERRAND_SIGN_UP is email'],
  [{ ERRAND_SIGN_UP_DOMAINS: 'a.example' }, 'ERRAND_SIGN_UP: must be email if ERRAND_SIGN_UP_DOMAINS is set'],
  ...wrongDomains.map((domains): [Record<string, string>, string] => [
    { ...mail, ERRAND_SIGN_UP: 'email', ERRAND_SIGN_UP_DOMAINS: domains },
    'must be a domain such as example.com',
  ]),
  ...wrongCredits.map((credit): [Record<string, string>, string] => [
    { ERRAND_SIGN_UP_CREDIT_USD: credit },
    'ERRAND_SIGN_UP_CREDIT_USD: must be a USD amount',
  ]),
]

test.each(wrong)('rejects the settings %j', (env, message) => {
  expect(() => resolveSignUp(env)).toThrow(message)
})

test('requires that the plan of new accounts exists', () => {
  const signUp = { ...closedSignUp, newcomer: { plan: 'trial', credit: 0 } }
  const plans = (name: string) => ({ plans: { named: new Map([[name, {}]]) } }) as never
  expect(() => assertNewcomerPlan(signUp, plans('trial'))).not.toThrow()
  expect(() => assertNewcomerPlan(signUp, plans('other'))).toThrow('ERRAND_SIGN_UP_PLAN: "trial" must be the name')
})
