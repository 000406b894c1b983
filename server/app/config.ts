import { randomBytes } from 'node:crypto'
import { chmodSync, closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { checkSignUp, type SignUpSettings } from '../auth/invitations/sign-up-settings.ts'
import type { Secrets } from '../kernel/secret-vault.ts'
import { makeFolder } from '../kernel/make-folder.ts'
import { UsageError } from '../kernel/usage-error.ts'
import { codeOf } from '../kernel/thrown.ts'
import { checkPayments, type PaymentSettings } from '../payments/payment-settings.ts'
import { checkMail, type MailSettings } from '../mails/mail-settings.ts'
import { isNetwork } from '../outbound/network-list.ts'
import type { PayloadBucket } from '../payloads/payload-bucket.ts'
import type { LimitsConfig, LoginConfig } from '../agents/config/service-config.ts'
import {
  ConfigError,
  limits,
  limitVariable,
  logLevels,
  roles,
  secretCharsMin,
  variables,
  type Environment,
  type Limit,
  type LimitName,
  type Variable,
} from '../kernel/settings.ts'

// This is the only module that reads environment variables.

export type Limits = { [Name in LimitName]: number }

export type EnvironmentVariables = Readonly<Record<string, string | undefined>>

/**
 * Resolves each limit from the environment, then the configuration file, then the default. Throws a ConfigError that
 * names any invalid limit.
 */
export function resolveLimits(fromFile: LimitsConfig = {}, env: EnvironmentVariables = process.env): Limits {
  for (const name of Object.keys(fromFile)) {
    if (!Object.hasOwn(limits, name))
      throw new ConfigError(`limits.${name}: unknown limit. docs/reference/settings.md lists the limits`)
  }
  const resolve = (name: LimitName): number => {
    const { default: byDefault, ...limit }: Limit = limits[name]
    const least = limit.zero === undefined ? 1 : 0
    const variable = limitVariable(name)
    const text = env[variable]
    if (text !== undefined && text !== '') return wholeNumber(variable, Number(text), least)
    const ofFile = fromFile[name]
    return ofFile === undefined ? byDefault : wholeNumber(`limits.${name}`, ofFile, least)
  }
  const names = Object.keys(limits) as LimitName[]
  return Object.fromEntries(names.map((name) => [name, resolve(name)])) as Limits
}

function wholeNumber(field: string, value: unknown, least: number): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least) return value
  throw new ConfigError(`${field}: must be a whole number, ${least} or more`)
}

export type Role = (typeof roles)[number]

export type ServeSettings = {
  dataDir: string
  host: string
  port: number
  configFile: string
  baseUrl: string | null
  role: Role
}
export type ServeOptions = {
  data?: string
  host?: string
  port?: string
  config?: string
  baseUrl?: string
  role?: string
  defaultConfig?: string
}

const loopback = /^(?:127(?:\.\d{1,3}){3}|::1|localhost)$/

/** Resolves each setting from the command-line options, then the ERRAND_ variables, then the default. */
export function resolveServe(options: ServeOptions, env: EnvironmentVariables = process.env): ServeSettings {
  const host = options.host ?? env.ERRAND_HOST ?? variables.ERRAND_HOST.default
  const portText = options.port ?? env.ERRAND_PORT ?? variables.ERRAND_PORT.default
  const port = Number(portText)
  if (!/^\d{1,5}$/.test(portText) || port > 65_535)
    throw new UsageError(`--port or ERRAND_PORT: "${portText}" must be a number from 0 to 65535`)
  const role = resolveRole(options.role ?? env.ERRAND_ROLE ?? variables.ERRAND_ROLE.default, env)
  const given = options.baseUrl ?? env.ERRAND_BASE_URL
  if (given === undefined && !loopback.test(host) && role !== 'worker') {
    throw new UsageError(
      '--base-url: must be set if --host is not a loopback address, because links in responses start with this URL',
    )
  }
  return {
    dataDir: resolveDataDir(options.data, env),
    host,
    port,
    configFile: resolveConfigFile(options.config, {
      ...env,
      ERRAND_CONFIG: env.ERRAND_CONFIG ?? options.defaultConfig,
    }),
    baseUrl: given === undefined ? null : checkBaseUrl('--base-url or ERRAND_BASE_URL', given),
    role,
  }
}

export function checkBaseUrl(field: string, url: string): string {
  if (/^https?:\/\/[^/?#\s]+(?:\/[^?#\s]*)?$/.test(url) && URL.canParse(url)) return url.replace(/\/+$/, '')
  throw new UsageError(`${field}: "${url}" must be an http or https URL without a query`)
}

function resolveRole(text: string, env: Environment): Role {
  const role = roles.find((known) => known === text)
  if (!role) throw new UsageError(`--role or ERRAND_ROLE: "${text}" must be one of ${roles.join(', ')}`)
  if (role !== 'all' && resolveDatabaseUrl(env) === undefined) {
    throw new UsageError(`--role ${role}: requires a shared PostgreSQL database. Set ERRAND_DATABASE_URL`)
  }
  return role
}

export const environment = (): EnvironmentVariables => process.env

export function resolveConfigFile(option: string | undefined, env: EnvironmentVariables = process.env): string {
  return option ?? env.ERRAND_CONFIG ?? variables.ERRAND_CONFIG.default
}

export function resolveDataDir(option: string | undefined, env: EnvironmentVariables = process.env): string {
  return option ?? env.ERRAND_DATA_DIR ?? variables.ERRAND_DATA_DIR.default
}

export function resolveDatabaseUrl(env: EnvironmentVariables = process.env): string | undefined {
  const url = env.ERRAND_DATABASE_URL
  return url === undefined || url === '' ? undefined : checkDatabaseUrl('ERRAND_DATABASE_URL', url)
}

/** Throws if the URL is invalid. The errors do not quote the URL, because it contains a password. */
function checkDatabaseUrl(field: string, url: string): string {
  if (!/^postgres(?:ql)?:\/\//.test(url)) throw new UsageError(`${field}: must begin with postgres://`)
  try {
    // Parse the URL like the driver does. The URL of a Unix socket has no host.
    const { password, username } = new URL(url.replace('@/', '@localhost/'))
    decodeURIComponent(`${username}:${password}`)
  } catch {
    throw new UsageError(
      `${field}: must be a URL. In a password, write / as %2F, ? as %3F, # as %23, @ as %40 and % as %25`,
    )
  }
  return url
}

export function resolvePayments(env: EnvironmentVariables = process.env): PaymentSettings | undefined {
  return checkPayments({
    secretKey: env.ERRAND_STRIPE_SECRET_KEY ?? '',
    webhookSecret: env.ERRAND_STRIPE_WEBHOOK_SECRET ?? '',
    apiUrl: env.ERRAND_STRIPE_API_URL ?? '',
    returnOrigins: env.ERRAND_PAYMENT_RETURN_ORIGINS ?? '',
  })
}

export function resolveMail(env: EnvironmentVariables = process.env): MailSettings | undefined {
  const { ERRAND_MAIL_FROM: sender = '', ERRAND_MAIL_LOGO_URL: logoUrl = '', ERRAND_SMTP_URL: url = '' } = env
  return checkMail({ logoUrl, sender, url })
}

export function resolveSignUp(env: EnvironmentVariables = process.env): SignUpSettings {
  return checkSignUp({
    mode: env.ERRAND_SIGN_UP || variables.ERRAND_SIGN_UP.default,
    domains: env.ERRAND_SIGN_UP_DOMAINS ?? '',
    plan: env.ERRAND_SIGN_UP_PLAN ?? '',
    creditUsd: env.ERRAND_SIGN_UP_CREDIT_USD || variables.ERRAND_SIGN_UP_CREDIT_USD.default,
    sendsMail: resolveMail(env) !== undefined,
  })
}

const bucketVariables = 'ERRAND_PAYLOADS_S3_'
type BucketVariable<Name = keyof Environment> = Name extends `ERRAND_PAYLOADS_S3_${infer Rest}` ? Rest : never

export function resolvePayloadBucket(env: EnvironmentVariables = process.env): PayloadBucket | undefined {
  const given = (name: BucketVariable) => env[`${bucketVariables}${name}`] || undefined
  const bucket = given('BUCKET')
  if (bucket === undefined) {
    const other = Object.entries(env).find(([name, value]) => name.startsWith(bucketVariables) && value !== '')
    if (other) throw new ConfigError(`${bucketVariables}BUCKET: must be set if ${other[0]} is set`)
    return undefined
  }
  const fail = (name: BucketVariable, what: string) => new ConfigError(`${bucketVariables}${name}: ${what}`)
  if (!/^[A-Za-z0-9._-]{3,255}$/.test(bucket))
    throw fail('BUCKET', `"${bucket}" must have 3 to 255 letters, digits, dots, dashes or underscores`)
  const endpoint = given('ENDPOINT')
  if (endpoint !== undefined && !/^https?:\/\/[^/?#\s@]+\/?$/.test(endpoint)) {
    throw fail('ENDPOINT', 'must be an http or https URL without a path')
  }
  const accessKeyId = given('ACCESS_KEY_ID')
  const secretAccessKey = given('SECRET_ACCESS_KEY')
  const keyWithout = (other: BucketVariable) => `must be set if ${bucketVariables}${other} is set`
  if (accessKeyId === undefined && secretAccessKey !== undefined) {
    throw fail('ACCESS_KEY_ID', keyWithout('SECRET_ACCESS_KEY'))
  }
  if (accessKeyId !== undefined && secretAccessKey === undefined) {
    throw fail('SECRET_ACCESS_KEY', keyWithout('ACCESS_KEY_ID'))
  }
  const prefix = (given('PREFIX') ?? '').replace(/\/$/, '')
  if (prefix !== '' && !/^[\w!.*'()-]{1,100}(?:\/[\w!.*'()-]{1,100}){0,7}$/.test(prefix)) {
    throw fail(
      'PREFIX',
      "must be at most 8 names, separated by slashes, each of at most 100 letters, digits and -_.!*'()",
    )
  }
  const pathStyle = given('PATH_STYLE') ?? String(endpoint !== undefined)
  if (pathStyle !== 'true' && pathStyle !== 'false') throw fail('PATH_STYLE', 'must be true or false')
  const region = given('REGION')
  return {
    bucket,
    ...(endpoint !== undefined && { endpoint: endpoint.replace(/\/$/, '') }),
    ...(region !== undefined && { region }),
    ...(accessKeyId !== undefined &&
      secretAccessKey !== undefined && { credentials: { accessKeyId, secretAccessKey } }),
    prefix: prefix === '' ? '' : `${prefix}/`,
    hasPathStyle: pathStyle === 'true',
  }
}

export function resolveLogLevel(env: EnvironmentVariables = process.env): string {
  const level = env.ERRAND_LOG_LEVEL ?? variables.ERRAND_LOG_LEVEL.default
  if (!logLevels.some((known) => known === level)) {
    throw new ConfigError('ERRAND_LOG_LEVEL: must be debug, info, warn, error or silent')
  }
  return level
}

/** Returns the environment for agents, without the service's own secrets. */
export function agentEnvironment(env: EnvironmentVariables = process.env): EnvironmentVariables {
  const kept = { ...env }
  for (const [name, { isSecret }] of Object.entries<Variable>(variables)) if (isSecret) delete kept[name]
  return kept
}

export function resolveMetricsToken(env: EnvironmentVariables = process.env): string | null {
  const token = env.ERRAND_METRICS_TOKEN ?? ''
  if (token === '') return null
  if (token.length < secretCharsMin) {
    throw new ConfigError(`ERRAND_METRICS_TOKEN: must have at least ${secretCharsMin} characters`)
  }
  return token
}

export function resolveTrustedProxies(env: EnvironmentVariables = process.env): string[] {
  const entries = (env.ERRAND_TRUSTED_PROXIES ?? '').split(',').map((entry) => entry.trim())
  const given = entries.filter((entry) => entry !== '')
  for (const entry of given) {
    if (isNetwork(entry)) continue
    throw new ConfigError(`ERRAND_TRUSTED_PROXIES: "${entry}" must be an IP address or a network such as 10.0.0.0/8`)
  }
  return given
}

/** Adds the login provider set by the ERRAND_OIDC_ variables to those in the configuration file. */
export function resolveLogin(fromFile: LoginConfig = {}, env: EnvironmentVariables = process.env): LoginConfig {
  const { ERRAND_OIDC_ISSUER: issuer, ERRAND_OIDC_CLIENT_ID: clientId, ERRAND_OIDC_CLIENT_SECRET: clientSecret } = env
  if (issuer === undefined || issuer === '') return fromFile
  if (clientId === undefined || clientId === '')
    throw new ConfigError('ERRAND_OIDC_CLIENT_ID: must be set if ERRAND_OIDC_ISSUER is set')
  if (!URL.canParse(issuer)) throw new ConfigError('ERRAND_OIDC_ISSUER: must be an https URL')
  const {
    ERRAND_OIDC_CREATE_ACCOUNTS: creates = variables.ERRAND_OIDC_CREATE_ACCOUNTS.default,
    ERRAND_OIDC_EMAIL_DOMAINS: domains,
  } = env
  if (creates !== 'true' && creates !== 'false')
    throw new ConfigError('ERRAND_OIDC_CREATE_ACCOUNTS: must be true or false')
  const provider = {
    id: 'sso',
    name: env.ERRAND_OIDC_NAME ?? new URL(issuer).hostname,
    issuer,
    clientId,
    ...(clientSecret !== undefined && clientSecret !== '' && { clientSecret }),
    createAccounts: creates === 'true',
    ...(domains !== undefined && domains !== '' && { emailDomains: domains.split(',').map((domain) => domain.trim()) }),
  }
  return { providers: [...(fromFile.providers ?? []), provider] }
}

/**
 * Returns ERRAND_SECRET, and during a rotation ERRAND_SECRET_PREVIOUS. If they are not set, reads a file in the data
 * directory that is readable only by its owner and has one secret per line, the current one first. Nodes that share a
 * database do not use this file.
 */
export function resolveSecrets(dataDir: string, env: EnvironmentVariables = process.env): Secrets {
  const { ERRAND_SECRET: given, ERRAND_SECRET_PREVIOUS: previous } = env
  const isShared = resolveDatabaseUrl(env) !== undefined
  if (isShared && (given === undefined || given === '')) {
    throw new ConfigError('ERRAND_SECRET: must be set if ERRAND_DATABASE_URL is set, to the same value on every node')
  }
  if (given === undefined) return readSecretFile(dataDir)
  for (const [name, secret] of Object.entries({ ERRAND_SECRET: given, ERRAND_SECRET_PREVIOUS: previous })) {
    if (secret !== undefined && secret.length < secretCharsMin) {
      throw new ConfigError(`${name}: must have at least ${secretCharsMin} characters`)
    }
  }
  // Data from before the variable was set is encrypted with the secrets in the data directory. If nodes share a
  // database, ignore the secret file, because it exists on one node only.
  const kept = !isShared && existsSync(secretFile(dataDir)) ? Object.values(readSecretFile(dataDir)).flat() : []
  return { current: given, previous: [...(previous === undefined ? [] : [previous]), ...kept] }
}

/** Whether a secret exists. Unlike `resolveSecrets`, never creates one. */
export function hasSecret(dataDir: string, env: EnvironmentVariables = process.env): boolean {
  return env.ERRAND_SECRET !== undefined || existsSync(secretFile(dataDir))
}

/**
 * Puts a new secret before those in the data directory. Does nothing if ERRAND_SECRET is set or nodes share a database.
 */
export function replaceSecret(dataDir: string, env: EnvironmentVariables = process.env): Secrets {
  if (env.ERRAND_SECRET !== undefined || resolveDatabaseUrl(env) !== undefined) return resolveSecrets(dataDir, env)
  const { current, previous } = readSecretFile(dataDir)
  return writeSecretFile(dataDir, {
    current: randomBytes(32).toString('base64url'),
    previous: [current, ...previous],
  })
}

/**
 * Removes unused secrets. Keeps the previous one until the next rotation, because a running server may still encrypt
 * with it.
 */
export function dropOldSecrets(dataDir: string, env: EnvironmentVariables = process.env): void {
  if (env.ERRAND_SECRET !== undefined) return
  const { current, previous } = readSecretFile(dataDir)
  if (previous.length > 1) writeSecretFile(dataDir, { current, previous: previous.slice(0, 1) })
}

function writeSecretFile(dataDir: string, secrets: Secrets): Secrets {
  const file = secretFile(dataDir)
  const draft = `${file}.${process.pid}.partial`
  // Write a temporary file and rename it, so that a crash leaves either the old or the new file.
  writeFileSync(draft, [secrets.current, ...secrets.previous, ''].join('\n'), { mode: 0o600, flush: true })
  renameSync(draft, file)
  return secrets
}

function secretFile(dataDir: string): string {
  return join(dataDir, 'secret')
}

function readSecretFile(dataDir: string): Secrets {
  const file = secretFile(dataDir)
  makeFolder(dataDir)
  try {
    writeFileSync(file, randomBytes(32).toString('base64url'), { flag: 'wx', mode: 0o600, flush: true })
    // Sync the folder, because the secret must be as durable as the database, which stores a check value for it.
    syncFolder(dataDir)
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
  }
  chmodSync(file, 0o600)
  const [current = '', ...previous] = readFileSync(file, 'utf8')
    .trim()
    .split(/[\r\n]+/)
  if ([current, ...previous].some((secret) => secret.length < secretCharsMin)) {
    throw new ConfigError(
      `${file} is damaged: it has a line with fewer than ${secretCharsMin} characters. Restore it from a backup.`,
    )
  }
  return { current, previous }
}

function syncFolder(folder: string): void {
  const handle = openSync(folder, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

/**
 * Whether npm runs this process in a shell, through `npx` or a package's `start` script. npm's signals end the shell
 * but not this process.
 */
export function isBelowNpm(env: EnvironmentVariables = process.env): boolean {
  return ['npx', 'start'].includes(env['npm_lifecycle_event'] ?? '')
}

export function resolveCommandPath(env: EnvironmentVariables = process.env): string {
  return env['PATH'] ?? ''
}

export function resolvePrivateHosts(
  fromFile: readonly string[] = [],
  env: EnvironmentVariables = process.env,
): string[] {
  const fromEnvironment = (env.ERRAND_CONNECTOR_PRIVATE_HOSTS ?? '').split(',')
  return [...fromFile, ...fromEnvironment.map((host) => host.trim()).filter((host) => host !== '')]
}
