import type { IncomingMessage } from 'node:http'
import { isIPv6 } from 'node:net'
import { NetworkList, plainAddress } from '../../outbound/network-list.ts'
import { isPublicAddress } from '../../outbound/private-address.ts'

/**
 * Identifies the client of a request, for the login throttle and for the address restrictions of platform keys. Trusts
 * an X-Forwarded-For header only from proxies that the operator has configured.
 */
export class ClientAddresses {
  readonly #proxies: NetworkList

  /** Addresses or networks such as `10.0.0.0/8`. Throws for an invalid entry. */
  constructor(trustedProxies: readonly string[]) {
    this.#proxies = new NetworkList(trustedProxies)
  }

  /**
   * Returns the client's public IPv4 address, or the network of its public IPv6 address, because one client usually has
   * an entire network. Returns null for a private address: it may belong to a proxy through which all clients connect.
   */
  of(request: IncomingMessage): string | null {
    const address = this.addressOf(request)
    if (!isPublicAddress(address)) return null
    return isIPv6(address) ? networkOf(address) : address
  }

  /** Returns the client's address, public or private. Empty if a proxy sent none. */
  addressOf({ headers, socket }: IncomingMessage): string {
    let address = plainAddress(socket.remoteAddress ?? '')
    // Each proxy appends the address of its peer, so the last address that is not a trusted proxy is the client.
    const forwarded = [headers['x-forwarded-for'] ?? []].flat().join(',').split(',')
    while (this.#proxies.has(address) && forwarded.length > 0) address = plainAddress(forwarded.pop()!)
    return address
  }
}

/** Returns the first 64 bits of an IPv6 address. */
function networkOf(address: string): string {
  const [start = '', end] = address.split('::')
  const groups = start === '' ? [] : start.split(':')
  const rest = end === undefined || end === '' ? [] : end.split(':')
  const zeros = end === undefined ? [] : Array.from({ length: 8 - groups.length - rest.length }, () => '0')
  return [...groups, ...zeros, ...rest].slice(0, 4).join(':')
}
