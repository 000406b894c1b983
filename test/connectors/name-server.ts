import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { isIPv4 } from 'node:net'
import { openResources } from '../support/resources.ts'

/** A name's addresses, an error, or no response. */
type Zone = (name: string) => string[] | 'unknown' | 'refused' | 'silent'

export type NameServer = {
  /** The address as configured in a resolver. */
  address: string
  /** Distinct names that were looked up. */
  names: Set<string>
  stop: () => Promise<void>
}

const codes = { unknown: 3, refused: 5 }

/** Starts a name server over UDP for both address families. */
export async function startNameServer(zone: Zone): Promise<NameServer> {
  const socket = createSocket('udp4')
  const names = new Set<string>()
  socket.on('message', (query, { address, port }) => {
    const labels: string[] = []
    let at = 12
    for (let length = query[at]!; length > 0; length = query[at]!) {
      labels.push(query.toString('latin1', at + 1, at + 1 + length))
      at += 1 + length
    }
    const [type, end] = [query.readUInt16BE(at + 1), at + 5]
    const name = labels.join('.').toLowerCase()
    names.add(name)
    const known = zone(name)
    if (known === 'silent') return
    const records = typeof known === 'string' ? [] : known.filter((of) => type === (isIPv4(of) ? 1 : 28))
    const head = Buffer.from(query.subarray(0, end))
    head.writeUInt16BE(0x8180 | (typeof known === 'string' ? codes[known] : 0), 2)
    head.writeUInt16BE(records.length, 6)
    head.writeUInt32BE(0, 8)
    socket.send(Buffer.concat([head, ...records.map((record) => toRecord(record, type))]), port, address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const address = `127.0.0.1:${socket.address().port}`
  openResources.add(`name server on ${address}`)
  const stop = async () => {
    socket.close()
    await once(socket, 'close')
    openResources.delete(`name server on ${address}`)
  }
  return { address, names, stop }
}

function toRecord(address: string, type: number): Buffer {
  const data = isIPv4(address)
    ? Buffer.from(address.split('.').map(Number))
    : Buffer.from(address.split(':').flatMap((group) => [Number(`0x${group}`) >> 8, Number(`0x${group}`) & 255]))
  const record = Buffer.alloc(12)
  record.writeUInt16BE(0xc00c, 0)
  record.writeUInt16BE(type, 2)
  record.writeUInt16BE(1, 4)
  record.writeUInt32BE(60, 6)
  record.writeUInt16BE(data.length, 10)
  return Buffer.concat([record, data])
}
