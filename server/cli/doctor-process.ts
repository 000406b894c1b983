import { existsSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, resolve } from 'node:path'
import { Catalogue } from '../agents/config/catalogue.ts'
import { PriceLists } from '../agents/prices/price-lists.ts'
import { measureTools } from '../agents/model/tool-tokens.ts'
import { loadConfigFile } from '../agents/config/load-config-file.ts'
import { resolveLimits, type Limits } from '../app/config.ts'
import { overriddenVariables } from '../app/env-file.ts'
import { describeUnknown, unknownVariables } from '../app/unknown-variables.ts'
import { packageVersion } from '../kernel/package-version.ts'
import { codeOf } from '../kernel/thrown.ts'
import type { Finding, Installation } from './finding.ts'
import { requestUrl } from './server-socket.ts'
import { describeFewFiles, openFilesLimit } from '../app/open-files.ts'

type Found = Omit<Finding, 'name'>

export function checkVersions(): Found {
  // `errand.cjs` has already checked the Node version.
  const { arch, platform, version } = process
  return { status: 'ok', message: `Errand ${packageVersion}, Node ${version.slice(1)}, ${platform} on ${arch}` }
}

export async function checkConfig({ configFile }: Installation): Promise<Found> {
  if (!existsSync(configFile)) {
    const path = resolve(configFile)
    return {
      status: 'warning',
      message: `${path} does not exist. \`errand serve\` requires it; \`errand\` serves the quickstart`,
    }
  }
  const config = await loadConfigFile(configFile)
  const catalogue = new Catalogue(config, new PriceLists(dirname(configFile)))
  await measureTools(config, { catalogue, measured: new WeakMap() })
  resolveLimits(config.limits)
  const names = catalogue.agents.map(({ id }) => id).join(', ')
  return {
    status: catalogue.agents.length === 0 ? 'warning' : 'ok',
    message: `${configFile} has the agents ${names}`,
  }
}

export function checkVariables(): Found {
  const warnings = [...unknownVariables().map(describeUnknown), ...overriddenVariables()]
  if (warnings.length === 0) return { status: 'ok', message: 'all ERRAND_ variables are known settings' }
  return { status: 'warning', message: warnings.join('; ') }
}

export async function checkPort({ dataDir, host, port }: Installation): Promise<Found> {
  const place = `${host}:${port}`
  const code = await new Promise<string>((done) => {
    const server = createServer()
    server.once('error', (error) => done(codeOf(error)))
    server.listen({ host, port }, () => server.close(() => done('')))
  })
  if (code === '') return { status: 'ok', message: `${place} is free` }
  if (code !== 'EADDRINUSE') {
    const why = code === 'EACCES' ? 'this user lacks permission. Choose port 1024 or higher' : code
    return { status: 'problem', message: `Cannot listen on ${place}: ${why}` }
  }
  const url = await requestUrl(dataDir)
  if (url !== undefined && Number(new URL(url).port) === port) {
    return { status: 'ok', message: `the server of ${resolve(dataDir)} is running on ${place}` }
  }
  const other = (await isErrand(host, port)) ? 'the server of another data directory' : 'another program'
  return { status: 'problem', message: `${other} is using ${place}. Choose another port with --port or ERRAND_PORT` }
}

async function isErrand(host: string, port: number): Promise<boolean> {
  const address = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
  try {
    const url = `http://${address.includes(':') ? `[${address}]` : address}:${port}/openapi.json`
    const text = await (await fetch(url, { signal: AbortSignal.timeout(3000) })).text()
    return text.slice(0, 300).includes('"Errand')
  } catch {
    return false
  }
}

export async function checkOpenFiles(of: Installation): Promise<Found> {
  const limit = openFilesLimit()
  const few = describeFewFiles((await limitsOf(of)).maxConnections, limit)
  if (few !== undefined) return { status: 'warning', message: few }
  return { status: 'ok', message: limit === undefined ? 'unknown on this system' : `${limit} at a time` }
}

export async function checkDrain(of: Installation): Promise<Found> {
  const { drainSeconds } = await limitsOf(of)
  const message = `takes up to ${drainSeconds} s (drainSeconds). Set the systemd unit's TimeoutStopSec, or the container's stop timeout, to more than that`
  return { status: 'ok', message }
}

/** `checkConfig` reports an invalid configuration file, so ignore it here. */
async function limitsOf({ configFile }: Installation): Promise<Limits> {
  if (!existsSync(configFile)) return resolveLimits()
  return await loadConfigFile(configFile)
    .then(({ limits }) => resolveLimits(limits))
    .catch(() => resolveLimits())
}
