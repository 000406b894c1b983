import type { IncomingMessage } from 'node:http'
import { BlockList, isIP, isIPv6 } from 'node:net'
import { isPublicAddress } from '../../outbound/private-address.ts'

/**
 * Which client a request comes from, for the throttle of logins and for nothing else. Proxies are believed only when the
 * operator names them; whatever else claims an address in X-Forwarded-For is not.
 */
export class ClientAddresses {
  readonly #proxies = new BlockList()

  /** Addresses or networks such as `10.0.0.0/8`. Throws for one that is neither. */
  constructor(trustedProxies: readonly string[]) {
    for (const entry of trustedProxies) {
      const [address = '', prefix] = entry.split('/')
      const family = isIPv6(address) ? 'ipv6' : 'ipv4'
      if (prefix === undefined) this.#proxies.addAddress(address, family)
      else this.#proxies.addSubnet(address, Number(prefix), family)
    }
  }

  /**
   * A public IPv4 address, or the network of a public IPv6 one, which is what one client has. Null for a connection from a
   * private network or this machine: that may be a proxy, behind which is everybody.
   */
  of({ headers, socket }: IncomingMessage): string | null {
    let address = plain(socket.remoteAddress ?? '')
    // Each proxy appends its peer, so the last address that is not a trusted proxy is the client.
    const forwarded = [headers['x-forwarded-for'] ?? []].flat().join(',').split(',')
    while (this.#isProxy(address) && forwarded.length > 0) address = plain(forwarded.pop()!)
    if (!isPublicAddress(address)) return null
    return isIPv6(address) ? networkOf(address) : address
  }

  #isProxy(address: string): boolean {
    return isIP(address) !== 0 && this.#proxies.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')
  }
}

function plain(address: string): string {
  return address.trim().replace(/^::ffff:(?=\d+\.)/i, '')
}

/** The first 64 bits. */
function networkOf(address: string): string {
  const [start = '', end] = address.split('::')
  const groups = start === '' ? [] : start.split(':')
  const rest = end === undefined || end === '' ? [] : end.split(':')
  const zeros = end === undefined ? [] : Array.from({ length: 8 - groups.length - rest.length }, () => '0')
  return [...groups, ...zeros, ...rest].slice(0, 4).join(':')
}
