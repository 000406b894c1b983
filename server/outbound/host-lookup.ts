import { readFileSync, statSync } from 'node:fs'
import { Resolver } from 'node:dns/promises'
import type { LookupAddress } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { must } from '../kernel/assert.ts'

export type HostLookup = {
  /** Aborts the lookup immediately. `lookUpHost` then rejects with the abort reason. */
  signal: AbortSignal
  /**
   * Whether the operator configured the host. If so, the search list in resolv.conf applies, as it does for other
   * programs on the machine.
   */
  isOperators: boolean
  accepts?: (address: string) => boolean
  /** Name servers for tests, as `address:port`. */
  nameServers?: readonly string[] | undefined
}

/** Thrown if the host does not exist or no name server responded in time. The error does not reveal which. */
export class HostNotFoundError extends Error {
  override readonly name = 'HostNotFoundError'
  readonly code = 'ENOTFOUND'

  constructor() {
    super('The host was not found. Check the URL.')
  }
}

const lookupMs = 5000
const tryMs = 2000
const tries = 2
/** How long to wait for the other address family after the first response. */
const graceMs = 300

/**
 * Resolves a host from the hosts file or DNS. Does not use getaddrinfo, because its calls cannot be canceled, and each
 * occupies one of libuv's four threads until the name server responds. A few names on unresponsive servers would block
 * all other lookups and file access.
 */
export async function lookUpHost(host: string, options: HostLookup): Promise<LookupAddress[]> {
  const { accepts = () => true, isOperators, signal } = options
  signal.throwIfAborted()
  const name = host.toLowerCase().replace(/\.$/, '')
  const known = hostsFile.read().get(name) ?? (isLocal(name) ? ['127.0.0.1', '::1'] : [])
  const usable = known.filter(accepts)
  if (usable.length > 0) return usable.map(toAddress)
  if (isLocal(name)) throw new HostNotFoundError()
  // If the addresses in the hosts file are unusable, query DNS anyway. Otherwise, the fast response would reveal that
  // the hosts file contains the name.
  const late = AbortSignal.timeout(lookupMs)
  const stop = AbortSignal.any([signal, late])
  for (const candidate of isOperators ? candidatesOf(host) : [name]) {
    const found = await ask(candidate, { ...options, signal: stop })
    signal.throwIfAborted()
    const addresses = found.filter(accepts)
    if (addresses.length > 0) return addresses.map(toAddress)
    if (late.aborted) break
  }
  throw new HostNotFoundError()
}

/** Returns a lookup function for `net.connect` that returns these addresses. */
export function answering(addresses: LookupAddress[]): LookupFunction {
  const { address, family } = must(addresses[0], 'a successful lookup has an address')
  return (_host, { all }, callback) => (all ? callback(null, addresses) : callback(null, address, family))
}

function isLocal(name: string): boolean {
  return name === 'localhost' || name.endsWith('.localhost')
}

function toAddress(address: string): LookupAddress {
  return { address, family: isIP(address) }
}

/**
 * Queries both address families. After the first response, waits only briefly for the other. Returns an empty array if
 * neither family has an address.
 */
async function ask(name: string, { nameServers, signal }: HostLookup): Promise<string[]> {
  if (signal.aborted) return []
  // Create a resolver for each lookup, because `cancel` ends all of a resolver's queries. A new one also reads the
  // machine's current settings.
  const resolver = new Resolver({ timeout: tryMs, tries })
  if (nameServers) resolver.setServers(nameServers)
  const ended = Promise.withResolvers<void>()
  const end = () => ended.resolve()
  signal.addEventListener('abort', end, { once: true })
  const found: [string[], string[]] = [[], []]
  let grace: NodeJS.Timeout | undefined
  const take = (at: 0 | 1) => (addresses: string[]) => {
    found[at] = addresses
    grace ??= setTimeout(end, graceMs)
  }
  const none = () => {}
  const asked = [resolver.resolve4(name).then(take(0), none), resolver.resolve6(name).then(take(1), none)]
  await Promise.race([Promise.all(asked), ended.promise])
  clearTimeout(grace)
  signal.removeEventListener('abort', end)
  resolver.cancel()
  return found.flat()
}

/** Returns the names to query for a host, in the order that resolv.conf(5) specifies. */
function candidatesOf(host: string): string[] {
  const name = host.replace(/\.$/, '')
  if (name !== host) return [name]
  const { ndots, search } = resolvConf.read()
  const longer = search.map((domain) => `${name}.${domain}`)
  return name.split('.').length - 1 >= ndots ? [name, ...longer] : [...longer, name]
}

/** Cached system file that is read again when it changes. An unreadable file counts as empty. */
class SystemFile<Content> {
  readonly #path: string
  readonly #parse: (lines: string[][]) => Content
  #version = ''
  #content: Content

  constructor(path: string, parse: (lines: string[][]) => Content) {
    this.#path = path
    this.#parse = parse
    this.#content = parse([])
  }

  /**
   * Reads synchronously, because an asynchronous read might wait for a busy libuv thread. The file is small and usually
   * in the page cache.
   */
  read(): Content {
    let version = ''
    let lines: string[][] = []
    try {
      const { mtimeMs, size } = statSync(this.#path)
      version = `${mtimeMs} ${size}`
      if (version === this.#version) return this.#content
      const text = readFileSync(this.#path, 'utf8')
      lines = text.split(/\r?\n/).map((line) =>
        line
          .replace(/[#;].*/, '')
          .split(/\s+/)
          .filter(Boolean),
      )
    } catch {
      if (version === this.#version) return this.#content
    }
    this.#version = version
    return (this.#content = this.#parse(lines))
  }
}

const hostsPath = process.platform === 'win32' ? String.raw`C:\Windows\System32\drivers\etc\hosts` : '/etc/hosts'

const hostsFile = new SystemFile(hostsPath, (lines) => {
  const known = new Map<string, string[]>()
  for (const [address = '', ...names] of lines) {
    if (isIP(address) === 0) continue
    for (const name of names.map((of) => of.toLowerCase().replace(/\.$/, ''))) {
      known.set(name, [...(known.get(name) ?? []), address])
    }
  }
  return known
})

const resolvConf = new SystemFile('/etc/resolv.conf', (lines) => {
  let search: string[] = []
  let ndots = 1
  for (const [keyword, ...words] of lines) {
    if (keyword === 'search' || keyword === 'domain') search = words.filter((domain) => domain !== '.')
    if (keyword !== 'options') continue
    for (const word of words) if (/^ndots:\d+$/.test(word)) ndots = Number(word.slice('ndots:'.length))
  }
  return { search, ndots }
})
