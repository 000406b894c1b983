import { randomBytes } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ErrandError } from '../../kernel/errors.ts'
import { respond, withHeaders } from '../respond.ts'
import type { RoutedRequest } from '../routed-request.ts'
import { brandAttribute, darkLogoPath, defaultBrand, escapeAttribute, logoPath, type Brand } from './brand.ts'
import { sendAsset, staticAsset, type StaticAsset } from './static-asset.ts'

// Serves the web console: a single page for all of its paths, and the files that the page loads.

export type ConsoleFiles = {
  servePage: (routed: RoutedRequest) => Promise<void>
  serveFile: (routed: RoutedRequest) => Promise<void>
  /**
   * Responds to an unknown path with a page that people can read, and redirects page URLs with trailing slashes.
   * Returns false if the client is a program or the page is unavailable.
   */
  serveUnknown: (routed: RoutedRequest, isPage: (path: string) => boolean) => Promise<boolean>
}

type Built = { page: string[]; assets: ReadonlyMap<string, StaticAsset> }

const builtFolder = fileURLToPath(new URL('../../../console/dist', import.meta.url))

/** Must list every route in console/app/page-routes.tsx. A test checks this. */
export const pagePaths: readonly string[] = [
  '/',
  '/login',
  '/invitation',
  '/forgot-password',
  '/sign-up',
  ...['/agents', '/tasks', '/chat'].flatMap((list) => [list, `${list}/{}`]),
  '/usage',
  '/billing',
  '/billing/receipt',
  '/billing/statement',
  '/settings',
  ...['keys', 'keys/{}', 'connectors', 'webhooks', 'webhooks/{}', 'password', 'logins'].map(
    (page) => `/settings/${page}`,
  ),
  '/admin',
  ...[
    'overview',
    'users',
    'users/{}',
    'users/{}/tasks/{}',
    'plans',
    'economics',
    'payments',
    'invitations',
    'platform-keys',
    'platform-keys/{}',
    'agents',
    'audit',
    'mail',
    'system',
  ].map((page) => `/admin/${page}`),
]
const assetPrefix = '/assets/'
const iconPath = '/favicon.svg'
export const filePaths: readonly string[] = [`${assetPrefix}*`, iconPath, logoPath, darkLogoPath]
/** Placeholder in the built page for the nonce of each response. */
const noncePlaceholder = '__CSP_NONCE__'
const basePathPlaceholder = '__BASE_PATH__'
const namePlaceholder = '__SERVICE_NAME__'
const brandPlaceholder = '__BRAND__'

const plainText = 'text/plain; charset=utf-8'
const types: Record<string, string> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml; charset=utf-8',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
}

const closedFeatures = [
  'accelerometer',
  'camera',
  'display-capture',
  'geolocation',
  'gyroscope',
  'magnetometer',
  'microphone',
  'midi',
  'payment',
  'publickey-credentials-get',
  'serial',
  'usb',
  'xr-spatial-tracking',
]

type ConsoleOptions = { folder?: string | undefined; basePath?: string; brand?: Brand | undefined }

/** Reads the files on the first request. If the folder is missing, tries again on the next one. */
export function openConsoleFiles(options: ConsoleOptions = {}): ConsoleFiles {
  const { basePath = '', brand = defaultBrand, folder = builtFolder } = options
  const logos = logoAssets(brand)
  let reading: Promise<Built | undefined> | undefined
  async function load(): Promise<Built | undefined> {
    const own = (reading ??= readBuilt(folder, { basePath, brand }))
    const built = await own.catch((error: unknown) => {
      // The build may just have been moved into place, so let the next request read again.
      if (reading === own) reading = undefined
      throw error
    })
    if (!built && reading === own) reading = undefined
    return built
  }
  return {
    async servePage(routed) {
      const built = await load()
      if (built) sendPage(routed, { status: 200, page: built.page })
      else sendMissing(routed)
    },
    async serveFile(routed) {
      const logo = logos.get(routed.path)
      if (logo) return sendOwn(routed, logo)
      const built = await load()
      if (!built) return sendMissing(routed)
      const asset = built.assets.get(routed.path)
      if (!asset) throw new ErrandError('NOT_FOUND', 'This path does not exist. Check the URL.')
      sendOwn(routed, asset)
    },
    async serveUnknown(routed, isPage) {
      const { method, headers } = routed.request
      if (method !== 'GET' && method !== 'HEAD') return false
      const page = withoutEndSlashes(routed.path)
      if (page !== routed.path && isPage(page)) {
        sendRedirect(routed, basePath + page)
        return true
      }
      const built = takesPages(headers.accept) ? await load() : undefined
      if (!built) return false
      sendPage(routed, { status: 404, page: built.page })
      return true
    },
  }
}

type PageParts = { basePath: string; brand: Brand }

async function readBuilt(folder: string, { basePath, brand }: PageParts): Promise<Built | undefined> {
  const built = await readFile(join(folder, 'index.html'), 'utf8').catch(() => undefined)
  if (built === undefined) return undefined
  // The page has many paths, so its links to files cannot be relative.
  const icon = brand.logo ? logoPath : iconPath
  const html = built
    .replaceAll(`="./favicon.svg"`, `=".${icon}"`)
    .replaceAll('="./', `="${basePath}/`)
    .replaceAll(basePathPlaceholder, basePath)
    .replaceAll(namePlaceholder, () => escapeAttribute(brand.name))
    .replaceAll(brandPlaceholder, () => brandAttribute(brand))
  const assets = new Map<string, StaticAsset>()
  for (const name of await readdir(join(folder, 'assets'))) {
    const asset = await readAsset(join(folder, 'assets', name))
    if (asset) assets.set(assetPrefix + name, asset)
  }
  const ownIcon = await readAsset(join(folder, iconPath.slice(1)))
  if (ownIcon) assets.set(iconPath, ownIcon)
  return { page: html.split(noncePlaceholder), assets }
}

async function readAsset(file: string): Promise<StaticAsset | undefined> {
  const type = types[extname(file)]
  if (type === undefined) return undefined
  const plain = await readFile(file).catch(() => undefined)
  if (!plain) return undefined
  const [br, gzip] = await Promise.all(['.br', '.gz'].map((ending) => readFile(file + ending).catch(() => undefined)))
  return staticAsset(type, plain, { ...(br && { br }), ...(gzip && { gzip }) })
}

function logoAssets({ darkLogo, logo }: Brand): ReadonlyMap<string, StaticAsset> {
  const assets = new Map<string, StaticAsset>()
  if (logo) assets.set(logoPath, staticAsset(logo.type, logo.content, {}))
  if (darkLogo) assets.set(darkLogoPath, staticAsset(darkLogo.type, darkLogo.content, {}))
  return assets
}

const iconPolicy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"

function sendOwn(routed: RoutedRequest, asset: StaticAsset): void {
  // File names below assets/ contain a hash of the content, but the icon's name does not.
  const isHashed = routed.path.startsWith(assetPrefix)
  sendAsset(routed, asset, {
    'Cache-Control': isHashed ? 'public, max-age=31536000, immutable' : 'public, max-age=3600',
    'Cross-Origin-Resource-Policy': 'same-origin',
    // An SVG that is opened as a page must not run scripts.
    ...(!isHashed && { 'Content-Security-Policy': iconPolicy }),
  })
}

/** Browsers accept HTML when a person opens a URL. Programs that read JSON do not. */
function takesPages(accept = ''): boolean {
  return accept
    .split(',')
    .some((range) => /^\s*text\/html\s*(?:;|$)/i.test(range) && !/;\s*q=0(?:\.0*)?\s*$/i.test(range))
}

/** Avoids a regular expression such as `/\/+$/`, which takes quadratic time for many slashes. */
function withoutEndSlashes(path: string): string {
  let end = path.length
  while (end > 0 && path[end - 1] === '/') end--
  return path.slice(0, end)
}

function sendRedirect(routed: RoutedRequest, page: string): void {
  const { headers, query, response } = routed
  const location = query === '' ? page : `${page}?${query}`
  respond(response, { status: 308, type: plainText, text: '', headers: withHeaders(headers, { Location: location }) })
}

function sendPage(
  { headers, response }: RoutedRequest,
  { status, page }: { status: number; page: readonly string[] },
): void {
  const nonce = randomBytes(16).toString('base64')
  const type = 'text/html; charset=utf-8'
  respond(response, { status, type, text: page.join(nonce), headers: withHeaders(headers, pageHeaders(nonce)) })
}

function pageHeaders(nonce: string): Record<string, string> {
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data: blob:",
    "connect-src 'self'",
    "font-src 'self'",
    "frame-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ]
  return {
    'Content-Security-Policy': policy.join('; '),
    'X-Frame-Options': 'DENY',
    'Referrer-Policy': 'same-origin',
    'Permissions-Policy': closedFeatures.map((feature) => `${feature}=()`).join(', '),
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
  }
}

function sendMissing({ headers, response }: RoutedRequest): void {
  const text =
    "The web console is not built, but the API works. Run `npm start` or `npx vite build --config console/vite.config.ts` in Errand's folder.\n"
  respond(response, { status: 503, type: plainText, text, headers })
}
