import { BlockList, isIP, isIPv6 } from 'node:net'

/** IPv4 and IPv6 addresses and networks, such as `192.0.2.7` and `10.0.0.0/8`. */
export class NetworkList {
  readonly #entries = new BlockList()

  /** Throws for an invalid entry; validate entries with `isNetwork`. */
  constructor(entries: readonly string[]) {
    for (const entry of entries) {
      const [address = '', prefix] = entry.split('/')
      const family = isIPv6(address) ? 'ipv6' : 'ipv4'
      if (prefix === undefined) this.#entries.addAddress(address, family)
      else this.#entries.addSubnet(address, Number(prefix), family)
    }
  }

  /** Treats an IPv4-mapped IPv6 address as the IPv4 address. */
  has(address: string): boolean {
    const plain = plainAddress(address)
    return isIP(plain) !== 0 && this.#entries.check(plain, isIPv6(plain) ? 'ipv6' : 'ipv4')
  }
}

export function isNetwork(text: string): boolean {
  const [address = '', prefix, ...more] = text.split('/')
  const bits = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1
  const isPrefix = prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits)
  return bits !== -1 && isPrefix && more.length === 0 && !address.includes('%')
}

/** Strips the interface and unwraps an IPv4-mapped IPv6 address. */
export function plainAddress(address: string): string {
  return address
    .trim()
    .replace(/%.*$/, '')
    .replace(/^::ffff:(?=\d+\.)/i, '')
}
