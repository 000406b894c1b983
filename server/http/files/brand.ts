import { readFileSync, statSync } from 'node:fs'
import { z } from 'zod'
import { ConfigError } from '../../kernel/settings.ts'
import { codeOf } from '../../kernel/thrown.ts'

// The operator's name, logo, support address and seller details, which the console and emails show.

export type Logo = { type: string; content: Buffer }

export type Brand = {
  name: string
  /** Email address or https URL. */
  support?: string
  /** Lines with the seller's name, address and tax id. Empty if unknown. */
  seller: readonly string[]
  logo?: Logo
  /** Logo for the dark color scheme, if it differs. */
  darkLogo?: Logo
}

export const defaultName = 'Errand'
export const defaultBrand: Brand = { name: defaultName, seller: [] }

const nameCharsMax = 60
const sellerLinesMax = 8
const sellerLineCharsMax = 100
const logoBytesMax = 262_144

type BrandVariables = Record<'darkLogo' | 'logo' | 'mailName' | 'name' | 'seller' | 'support', string>

/** Unset variables are empty strings. `mailName` is the name in the sender of emails. */
export function checkBrand({ darkLogo, logo, mailName, name, seller, support }: BrandVariables): Brand {
  if (name.length > nameCharsMax || /\p{Cc}/u.test(name))
    throw new ConfigError(`ERRAND_SERVICE_NAME: must have at most ${nameCharsMax} characters on one line`)
  if (support !== '' && URL.parse(support)?.protocol !== 'https:' && !z.email().safeParse(support).success)
    throw new ConfigError('ERRAND_SUPPORT: must be an email address or an https URL')
  if (darkLogo !== '' && logo === '') throw new ConfigError('ERRAND_LOGO: must be set if ERRAND_LOGO_DARK is set')
  const lines = seller.split('|').map((line) => line.trim())
  const given = lines.filter((line) => line !== '')
  if (given.length > sellerLinesMax || given.some((line) => line.length > sellerLineCharsMax)) {
    const most = `at most ${sellerLinesMax} lines of at most ${sellerLineCharsMax} characters`
    throw new ConfigError(`ERRAND_SELLER: must have ${most}, separated by |`)
  }
  const ownName = name.trim() || mailName
  return {
    name: ownName || defaultName,
    ...(support !== '' && { support }),
    seller: given.length > 0 || ownName === '' ? given : [ownName],
    ...(logo !== '' && { logo: readLogo('ERRAND_LOGO', logo) }),
    ...(darkLogo !== '' && { darkLogo: readLogo('ERRAND_LOGO_DARK', darkLogo) }),
  }
}

function readLogo(field: string, file: string): Logo {
  try {
    const { size } = statSync(file)
    const content = size > logoBytesMax ? undefined : readFileSync(file)
    const type = content && imageType(content)
    if (type !== undefined) return { type, content: content! }
  } catch (error) {
    throw new ConfigError(`${field}: could not read "${file}" (${codeOf(error)}). Set the path of an image file`)
  }
  throw new ConfigError(`${field}: "${file}" must be an SVG, PNG or WebP image of at most 256 KB`)
}

function imageType(content: Buffer): string | undefined {
  if (content.subarray(0, 8).toString('latin1') === '\x89PNG\r\n\x1a\n') return 'image/png'
  if (/^RIFF.{4}WEBP/s.test(content.subarray(0, 12).toString('latin1'))) return 'image/webp'
  const text = content.toString('utf8')
  return /^\uFEFF?\s*</.test(text) && text.includes('<svg') ? 'image/svg+xml' : undefined
}

/** Returns the brand as JSON for an attribute of the console's page. */
export function brandAttribute({ darkLogo, logo, name, seller, support }: Brand): string {
  const logos = { logo: logo && logoPath, darkLogo: darkLogo && darkLogoPath }
  return escapeAttribute(JSON.stringify({ name, seller, support, ...logos }))
}

export const logoPath = '/logo'
export const darkLogoPath = '/logo-dark'

export function escapeAttribute(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}
