import { BlockList, isIP, isIPv6 } from 'node:net'

// IPv4 ranges of https://www.iana.org/assignments/iana-ipv4-special-registry, with the multicast and reserved blocks of
// https://www.iana.org/assignments/ipv4-address-space. 240.0.0.0/4 includes the broadcast address.
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

// Global unicast space of IANA, https://www.iana.org/assignments/ipv6-address-space. It excludes addresses that embed
// an IPv4 address (mapped, compatible, 64:ff9b::/96 and 64:ff9b:1::/48 of NAT64). It also excludes loopback,
// link-local, unique local and multicast addresses.
const globalIpv6 = blockList('ipv6', ['2000::/3'])

// Entries of https://www.iana.org/assignments/iana-ipv6-special-registry within 2000::/3: protocol assignments such as
// Teredo and ORCHID, documentation, and 6to4, which leads to any IPv4 address.
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
 * Whether an address belongs to the public internet: not private, loopback or special-purpose. False for anything but a
 * strictly formatted IP address, and for an address with a zone, which is link-local.
 */
export function isPublicAddress(address: string): boolean {
  if (address.includes('%')) return false
  // Each list is checked for its own family only: an IPv4 list would match the IPv4 part of a mapped address.
  switch (isIP(address)) {
    case 4:
      return !specialIpv4.check(address, 'ipv4')
    case 6:
      return globalIpv6.check(address, 'ipv6') && !specialIpv6.check(address, 'ipv6')
    default:
      return false
  }
}

/** Returns the host without the brackets of an IPv6 address. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1')
}

/** Whether a URL's host is an IP address that is not public. A host name is checked when it is resolved. */
export function namesPrivateAddress(url: URL): boolean {
  const host = hostOf(url)
  return isIP(host) !== 0 && !isPublicAddress(host)
}

/** Whether the URL matches a `host` or `host:port` entry. An entry without a port matches every port. */
export function isPrivateHost(url: URL, privateHosts: readonly string[]): boolean {
  return privateHosts.some((entry) => {
    const { host, port } = parseEntry(entry)
    return host === url.hostname && (port === null || port === portOf(url))
  })
}

export function portOf({ port, protocol }: URL): number {
  return Number(port) || (protocol === 'https:' ? 443 : 80)
}

/** `host` is spelled as in a URL; null if no URL can contain it. */
function parseEntry(entry: string): { host: string | null; port: number | null } {
  if (isIPv6(entry)) return { host: canonicalHost(`[${entry}]`), port: null }
  const [, host, port] = /^(\[[^\]]*\]|[^:/?#@\\\s]+)(?::(\d{1,5}))?$/.exec(entry) ?? []
  return { host: canonicalHost(host ?? ''), port: port === undefined ? null : Number(port) }
}

function canonicalHost(host: string): string | null {
  return URL.parse(`https://${host}`)?.hostname ?? null
}
