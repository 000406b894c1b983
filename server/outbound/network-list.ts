import { BlockList, isIP, isIPv6 } from 'node:net'

export class NetworkList {
  readonly #entries = new BlockList()

  /** Throws for an invalid entry. Validate entries with `isNetwork` first. */
  constructor(entries: readonly string[]) {
    for (const entry of entries) {
      const [address = '', prefix] = entry.split('/')
      const family = isIPv6(address) ? 'ipv6' : 'ipv4'
      if (prefix === undefined) this.#entries.addAddress(address, family)
      else this.#entries.addSubnet(address, Number(prefix), family)
    }
  }

  /** An IPv4-mapped IPv6 address counts as its IPv4 address. */
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

/** Removes the IPv6 zone, and converts an IPv4-mapped IPv6 address to IPv4. */
export function plainAddress(address: string): string {
  return address
    .trim()
    .replace(/%.*$/, '')
    .replace(/^::ffff:(?=\d+\.)/i, '')
}
