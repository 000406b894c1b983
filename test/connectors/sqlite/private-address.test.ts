import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isPrivateHost, isPublicAddress } from '../../../server/outbound/private-address.ts'

// First and last address of each block, and its public neighbors.
test.each([
  ['0.0.0.0', '0.255.255.255', null, '1.0.0.0'],
  ['10.0.0.0', '10.255.255.255', '9.255.255.255', '11.0.0.0'],
  ['100.64.0.0', '100.127.255.255', '100.63.255.255', '100.128.0.0'],
  ['127.0.0.0', '127.255.255.255', '126.255.255.255', '128.0.0.0'],
  ['169.254.0.0', '169.254.255.255', '169.253.255.255', '169.255.0.0'],
  ['172.16.0.0', '172.31.255.255', '172.15.255.255', '172.32.0.0'],
  ['192.0.0.0', '192.0.0.255', '191.255.255.255', '192.0.1.0'],
  ['192.0.2.0', '192.0.2.255', '192.0.1.255', '192.0.3.0'],
  ['192.88.99.0', '192.88.99.255', '192.88.98.255', '192.88.100.0'],
  ['192.168.0.0', '192.168.255.255', '192.167.255.255', '192.169.0.0'],
  ['198.18.0.0', '198.19.255.255', '198.17.255.255', '198.20.0.0'],
  ['198.51.100.0', '198.51.100.255', '198.51.99.255', '198.51.101.0'],
  ['203.0.113.0', '203.0.113.255', '203.0.112.255', '203.0.114.0'],
  ['224.0.0.0', '255.255.255.255', '223.255.255.255', null],
  ['::', '1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', null, '2000::'],
  ['2001::', '2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff', '2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '2001:200::'],
  ['2001:db8::', '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff', '2001:db7:ffff:ffff:ffff:ffff:ffff:ffff', '2001:db9::'],
  ['2002::', '2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '2003::'],
  ['3fff::', '3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff', '3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '3fff:1000::'],
  ['4000::', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', null],
])('treats %s to %s as not public and its neighbors as public', (first, last, before, after) => {
  expect([first, last].filter(isPublicAddress)).toEqual([])
  const beside = [before, after].filter((address) => address !== null)
  expect(beside.filter((address) => !isPublicAddress(address))).toEqual([])
})

test.each([
  '8.8.8.8',
  '1.1.1.1',
  '93.184.216.34',
  '2606:4700:4700::1111',
  '2A00:1450:4001:0800::200E',
  '2001:4860::8888',
])('%s is public', (address) => {
  expect(isPublicAddress(address)).toBe(true)
})

test.each([
  ['loopback', '::1'],
  ['loopback in full form', '0:0:0:0:0:0:0:1'],
  ['unspecified', '::'],
  ['link-local', 'fe80::1'],
  ['link-local with a zone', 'fe80::1%eth0'],
  ['a public address with a zone', '2606:4700:4700::1111%eth0'],
  ['site-local', 'fec0::1'],
  ['unique local', 'fd12:3456::1'],
  ['multicast', 'ff02::1'],
  ['a mapped private address', '::ffff:10.0.0.1'],
  ['a mapped loopback address in hexadecimal', '::ffff:7f00:1'],
  ['a mapped loopback address in uppercase', '::FFFF:127.0.0.1'],
  ['a mapped loopback address in full form', '0:0:0:0:0:ffff:7f00:0001'],
  ['a mapped public address', '::ffff:8.8.8.8'],
  ['an IPv4-compatible address', '::8.8.8.8'],
  ['an IPv4-translated address', '::ffff:0:8.8.8.8'],
  ['NAT64', '64:ff9b::7f00:1'],
  ['NAT64 with a public address', '64:ff9b::8.8.8.8'],
  ['local NAT64', '64:ff9b:1::1'],
  ['6to4 of loopback', '2002:7f00:1::'],
  ['Teredo', '2001:0:4136:e378:8000:63bf:3fff:fdd2'],
  ['discard-only', '100::1'],
  ['segment routing', '5f00::1'],
])('special IPv6 addresses are not public: %s (%s)', (_, address) => {
  expect(isPublicAddress(address)).toBe(false)
})

test.each([
  '',
  'localhost',
  '8.8.8',
  '8.8.8.8.',
  ' 8.8.8.8',
  '8.8.8.8:80',
  '010.8.8.8',
  '134744072',
  '0x8.8.8.8',
  '[2606::1]',
])('anything but a strict IP address is not public: "%s"', (text) => {
  expect(isPublicAddress(text)).toBe(false)
})

/** Independent implementation of the IPv4 rule, with numbers instead of a list of blocks. */
function isSpelledOutPublic([a, b, c]: readonly number[]): boolean {
  if (a === 0 || a === 10 || a === 127 || a! >= 224) return false
  if (a === 100) return b! < 64 || b! > 127
  if (a === 169) return b !== 254
  if (a === 172) return b! < 16 || b! > 31
  if (a === 192 && b === 0) return c !== 0 && c !== 2
  if (a === 192) return b !== 168 && !(b === 88 && c === 99)
  if (a === 198) return b !== 18 && b !== 19 && !(b === 51 && c === 100)
  return !(a === 203 && b === 0 && c === 113)
}

const byte = fc.integer({ min: 0, max: 255 })
const often = (...values: number[]) => fc.oneof(fc.constantFrom(...values), byte)
const ipv4 = fc.tuple(
  often(0, 10, 100, 127, 169, 172, 192, 198, 203, 224),
  often(0, 16, 18, 31, 51, 64, 88, 127, 168, 254),
  often(0, 2, 99, 100, 113),
  byte,
)

test('IPv4 addresses follow the block list, and their IPv6-mapped forms are never public', () => {
  const property = fc.property(ipv4, (bytes) => {
    expect(isPublicAddress(bytes.join('.'))).toBe(isSpelledOutPublic(bytes))
    const [a, b, c, d] = bytes
    const hex = `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`
    const within = [`::ffff:${bytes.join('.')}`, `::ffff:${hex}`, `::${hex}`, `64:ff9b::${hex}`, `2002:${hex}::1`]
    expect(within.filter(isPublicAddress)).toEqual([])
  })
  fc.assert(property, { numRuns: 3000 })
})

test('the first groups of an IPv6 address determine whether it is public', () => {
  const group = fc.integer({ min: 0, max: 0xffff })
  const first = fc.oneof(fc.constantFrom(0x2000, 0x2001, 0x2002, 0x2003, 0x3fff, 0x4000, 0x1fff, 0xfe80, 0), group)
  const second = fc.oneof(fc.constantFrom(0, 0x1ff, 0x200, 0xdb7, 0xdb8, 0xdb9, 0xfff, 0x1000), group)
  const property = fc.property(first, second, fc.array(group, { minLength: 6, maxLength: 6 }), (a, b, rest) => {
    const isSpecial = (a === 0x2001 && (b < 0x200 || b === 0xdb8)) || a === 0x2002 || (a === 0x3fff && b < 0x1000)
    const address = [a, b, ...rest].map((value) => value.toString(16)).join(':')
    expect(isPublicAddress(address)).toBe(a >= 0x2000 && a < 0x4000 && !isSpecial)
  })
  fc.assert(property, { numRuns: 3000 })
})

test.each([
  ['localhost', 'http://localhost:4000/mcp', true],
  ['LocalHost', 'http://LOCALHOST/', true],
  ['localhost:4000', 'http://localhost:4000/mcp', true],
  ['localhost:4000', 'http://localhost:4001/mcp', false],
  ['localhost:80', 'http://localhost/', true],
  ['localhost:80', 'http://localhost:8080/', false],
  ['localhost:443', 'https://localhost/', true],
  ['localhost:443', 'http://localhost/', false],
  ['localhost', 'http://sub.localhost/', false],
  ['localhost', 'http://localhost.evil.example/', false],
  ['localhost', 'http://localhost./', false],
  ['10.0.0.5', 'http://10.0.0.5:1/', true],
  ['10.0.0.5', 'http://0xa.5:1/', true],
  ['10.0.0.5', 'http://10.0.0.50/', false],
  ['::1', 'http://[::1]:4000/', true],
  ['[::1]', 'http://[::1]:4000/', true],
  ['[::1]:4000', 'http://[::1]:4000/', true],
  ['[::1]:4000', 'http://[::1]:4001/', false],
  ['0:0:0:0:0:0:0:1', 'http://[::1]/', true],
  ['FD00::A', 'http://[fd00::a]/', true],
  ['::1:4000', 'http://[::1]:4000/', false],
  ['', 'http://localhost/', false],
  [':80', 'http://localhost/', false],
  ['http://localhost', 'http://http/', false],
  ['localhost/path', 'http://localhost/', false],
  ['user@localhost', 'http://localhost/', false],
  ['*', 'http://localhost/', false],
])('an operator entry %s allows %s: %s', (entry, url, isAllowed) => {
  expect(isPrivateHost(new URL(url), ['other', entry])).toBe(isAllowed)
})
