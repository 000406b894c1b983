import type { IncomingMessage } from 'node:http'
import { isIPv6 } from 'node:net'
import { NetworkList, plainAddress } from '../../outbound/network-list.ts'
import { isPublicAddress } from '../../outbound/private-address.ts'

/**
 * Determines the client address of a request, for the login throttle and the address restrictions of platform keys.
 * Trusts X-Forwarded-For only if a configured proxy sent it.
 */
export class ClientAddresses {
  readonly #proxies: NetworkList

  /** Accepts addresses and networks such as `10.0.0.0/8`. Throws for an invalid entry. */
  constructor(trustedProxies: readonly string[]) {
    this.#proxies = new NetworkList(trustedProxies)
  }

  /**
   * Returns a public IPv4 address, or the /64 network of a public IPv6 address, because one client usually controls the
   * entire network. Returns null for a private address, because it may be a proxy that all clients share.
   */
  of(request: IncomingMessage): string | null {
    const address = this.addressOf(request)
    if (!isPublicAddress(address)) return null
    return isIPv6(address) ? networkOf(address) : address
  }

  /** Returns the public or private address, or an empty string if a trusted proxy did not send one. */
  addressOf({ headers, socket }: IncomingMessage): string {
    let address = plainAddress(socket.remoteAddress ?? '')
    // Each proxy appends the address of its peer, so the last address that is not a trusted proxy is the client's.
    const forwarded = [headers['x-forwarded-for'] ?? []].flat().join(',').split(',')
    while (this.#proxies.has(address) && forwarded.length > 0) address = plainAddress(forwarded.pop()!)
    return address
  }
}

function networkOf(address: string): string {
  const [start = '', end] = address.split('::')
  const groups = start === '' ? [] : start.split(':')
  const rest = end === undefined || end === '' ? [] : end.split(':')
  const zeros = end === undefined ? [] : Array.from({ length: 8 - groups.length - rest.length }, () => '0')
  return [...groups, ...zeros, ...rest].slice(0, 4).join(':')
}
