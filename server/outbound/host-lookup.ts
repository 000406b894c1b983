import { readFileSync, statSync } from 'node:fs'
import { Resolver } from 'node:dns/promises'
import type { LookupAddress } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { must } from '../kernel/assert.ts'

export type HostLookup = {
  /** Ends the look-up at once; its reason is thrown. */
  signal: AbortSignal
  /** Whether the operator named the host: then the search list of the machine counts, as for its other programs. */
  isOperators: boolean
  /** Which addresses are of use. */
  accepts?: (address: string) => boolean
  /** For tests: `address:port` of name servers, in place of the machine's. */
  nameServers?: readonly string[] | undefined
}

/** There is no such host, or no server told of it in time: which of these it was is not told. */
export class HostNotFoundError extends Error {
  override readonly name = 'HostNotFoundError'
  readonly code = 'ENOTFOUND'

  constructor() {
    super('The host was not found.')
  }
}

/** For the whole of it. */
const lookupMs = 5000
const tryMs = 2000
const tries = 2
/** How long the answer for one family waits for that of the other. */
const graceMs = 300

/**
 * The addresses of a host, from the machine's hosts file or from DNS. The system's own getaddrinfo is not asked: it
 * takes one of the four threads of the process for as long as a name server stays silent, and cannot be stopped, so
 * that a few names of dead servers leave everybody else without names, and files.
 */
export async function lookUpHost(host: string, options: HostLookup): Promise<LookupAddress[]> {
  const { accepts = () => true, isOperators, signal } = options
  signal.throwIfAborted()
  const name = host.toLowerCase().replace(/\.$/, '')
  const known = hostsFile.read().get(name) ?? (isLocal(name) ? ['127.0.0.1', '::1'] : [])
  const usable = known.filter(accepts)
  if (usable.length > 0) return usable.map(toAddress)
  if (isLocal(name)) throw new HostNotFoundError()
  // A name of the file whose addresses are of no use is asked for, and so takes the time of one that is not there.
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

/** A look-up for a connection to addresses that were found before. */
export function answering(addresses: LookupAddress[]): LookupFunction {
  const { address, family } = must(addresses[0], 'a host that was found has an address')
  return (_host, { all }, callback) => (all ? callback(null, addresses) : callback(null, address, family))
}

function isLocal(name: string): boolean {
  return name === 'localhost' || name.endsWith('.localhost')
}

function toAddress(address: string): LookupAddress {
  return { address, family: isIP(address) }
}

/** Both families are asked, and the first answer waits a little for the other. None when there is no address. */
async function ask(name: string, { nameServers, signal }: HostLookup): Promise<string[]> {
  if (signal.aborted) return []
  // One for each look-up: what is cancelled is all that it was asked, and the machine's settings may have changed.
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

/** The names that stand for one, in the order of resolv.conf(5). */
function candidatesOf(host: string): string[] {
  const name = host.replace(/\.$/, '')
  if (name !== host) return [name]
  const { ndots, search } = resolvConf.read()
  const longer = search.map((domain) => `${name}.${domain}`)
  return name.split('.').length - 1 >= ndots ? [name, ...longer] : [...longer, name]
}

/** A file of the machine that is read again when it has changed; as empty when it cannot be read. */
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

  /** Synchronous, as the threads that read files may be taken; what is read is small, and mostly kept. */
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
