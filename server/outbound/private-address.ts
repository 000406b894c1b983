import { BlockList, isIP, isIPv6 } from 'node:net'

// Special-purpose IPv4 ranges from https://www.iana.org/assignments/iana-ipv4-special-registry, and the multicast and
// reserved blocks from https://www.iana.org/assignments/ipv4-address-space. 240.0.0.0/4 includes the broadcast address.
const specialIpv4 = blockList('ipv4', [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
])

// IANA's global unicast range, https://www.iana.org/assignments/ipv6-address-space. Other addresses embed an IPv4
// address (IPv4-mapped, IPv4-compatible, NAT64), or are loopback, link-local, unique local or multicast.
const globalIpv6 = blockList('ipv6', ['2000::/3'])

// Special-purpose ranges within 2000::/3 from https://www.iana.org/assignments/iana-ipv6-special-registry: protocol
// assignments such as Teredo and ORCHID, documentation, and 6to4, which can reach any IPv4 address.
const specialIpv6 = blockList('ipv6', ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'])

function blockList(type: 'ipv4' | 'ipv6', subnets: readonly string[]): BlockList {
  const list = new BlockList()
  for (const subnet of subnets) {
    const [network = '', prefix] = subnet.split('/')
    list.addSubnet(network, Number(prefix), type)
  }
  return list
}

/**
 * Whether an address is public rather than private, loopback or special-purpose. Returns false for a string that is not
 * a valid IP address, and for a link-local address with a zone.
 */
export function isPublicAddress(address: string): boolean {
  if (address.includes('%')) return false
  // Check each list only for its own family, because an IPv4 list would also match IPv4-mapped IPv6 addresses.
  switch (isIP(address)) {
    case 4:
      return !specialIpv4.check(address, 'ipv4')
    case 6:
      return globalIpv6.check(address, 'ipv6') && !specialIpv6.check(address, 'ipv6')
    default:
      return false
  }
}

export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1')
}

/** Whether the URL contains a private IP address. Host names are checked later, when they are resolved. */
export function namesPrivateAddress(url: URL): boolean {
  const host = hostOf(url)
  return isIP(host) !== 0 && !isPublicAddress(host)
}

/** Whether the URL matches a `host` or `host:port` entry. Without a port, an entry matches every port. */
export function isPrivateHost(url: URL, privateHosts: readonly string[]): boolean {
  return privateHosts.some((entry) => {
    const { host, port } = parseEntry(entry)
    return host === url.hostname && (port === null || port === portOf(url))
  })
}

export function portOf({ port, protocol }: URL): number {
  return Number(port) || (protocol === 'https:' ? 443 : 80)
}

/** Normalizes `host` like the URL parser does. The host is null if no URL can contain it. */
function parseEntry(entry: string): { host: string | null; port: number | null } {
  if (isIPv6(entry)) return { host: canonicalHost(`[${entry}]`), port: null }
  const [, host, port] = /^(\[[^\]]*\]|[^:/?#@\\\s]+)(?::(\d{1,5}))?$/.exec(entry) ?? []
  return { host: canonicalHost(host ?? ''), port: port === undefined ? null : Number(port) }
}

function canonicalHost(host: string): string | null {
  return URL.parse(`https://${host}`)?.hostname ?? null
}
