import { BlockList, isIP, isIPv6 } from 'node:net'

// https://www.iana.org/assignments/iana-ipv4-special-registry, with the multicast and reserved blocks of
// https://www.iana.org/assignments/ipv4-address-space. 240.0.0.0/4 holds the broadcast address.
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

// All of the global unicast space that IANA gives out, https://www.iana.org/assignments/ipv6-address-space. What stands
// for an IPv4 address (mapped, compatible, 64:ff9b::/96 and 64:ff9b:1::/48 of NAT64) lies outside of it, as do
// loopback, link-local, unique local and multicast addresses.
const globalIpv6 = blockList('ipv6', ['2000::/3'])

// https://www.iana.org/assignments/iana-ipv6-special-registry as far as it lies within 2000::/3: protocol assignments
// such as Teredo and ORCHID, documentation, and 6to4, which leads to any IPv4 address.
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
 * Whether that is an address of the public internet: no private network's, no machine's own, none with a special
 * purpose. False for all that is no IP address in the strict spelling, and for one with a zone, which is link-local.
 */
export function isPublicAddress(address: string): boolean {
  if (address.includes('%')) return false
  // A list is asked only for its own family: asked for a mapped address, one of IPv4 would answer for the IPv4 part.
  switch (isIP(address)) {
    case 4:
      return !specialIpv4.check(address, 'ipv4')
    case 6:
      return globalIpv6.check(address, 'ipv6') && !specialIpv6.check(address, 'ipv6')
    default:
      return false
  }
}

/** The host without the brackets that an IPv6 address has in a URL. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1')
}

/** Whether a URL names an address, and one that is not public. Where a name leads is seen when it is looked up. */
export function namesPrivateAddress(url: URL): boolean {
  const host = hostOf(url)
  return isIP(host) !== 0 && !isPublicAddress(host)
}

/** Whether one of those `host` or `host:port` is where that URL leads. Without a port, every port is meant. */
export function isPrivateHost(url: URL, privateHosts: readonly string[]): boolean {
  return privateHosts.some((entry) => {
    const { host, port } = parseEntry(entry)
    return host === url.hostname && (port === null || port === portOf(url))
  })
}

/** The port that a URL of http or https leads to. */
export function portOf({ port, protocol }: URL): number {
  return Number(port) || (protocol === 'https:' ? 443 : 80)
}

/** The host as a URL spells it, null when no URL could have it. */
function parseEntry(entry: string): { host: string | null; port: number | null } {
  if (isIPv6(entry)) return { host: canonicalHost(`[${entry}]`), port: null }
  const [, host, port] = /^(\[[^\]]*\]|[^:/?#@\\\s]+)(?::(\d{1,5}))?$/.exec(entry) ?? []
  return { host: canonicalHost(host ?? ''), port: port === undefined ? null : Number(port) }
}

function canonicalHost(host: string): string | null {
  return URL.parse(`https://${host}`)?.hostname ?? null
}
