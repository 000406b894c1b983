import { connect, type Socket } from 'node:net'

// Reads event streams on plain sockets. Counts lines in the bytes without parsing them, so that the driver needs little
// CPU time compared with the servers.

export type StreamEnd = {
  events: number
  firstEventMs: number
}

export type StreamConnection = {
  /**
   * Sends a chat request. `begun` resolves at the first event. `ended` resolves at the end of the body, whose last
   * event must be the final event of a stream.
   */
  open: (request: Buffer) => { begun: Promise<void>; ended: Promise<StreamEnd> }
  close: () => void
}

type Reading = {
  sentAt: number
  events: number
  firstEventMs: number
  begun: PromiseWithResolvers<void>
  ended: PromiseWithResolvers<StreamEnd>
}

const newline = 10
const carriageReturn = 13
/** The last chunk of a chunked body. It occurs only at the end, because events contain no carriage return. */
const bodyEnd = '\r\n0\r\n\r\n'
/** Enough bytes for the last event and the end of its body. */
const tailBytes = 1024
const readBytes = 65_536
const silenceMs = 30_000

/** `lastEvent` is a string that only the final event of a stream contains. */
export async function connectStream(url: string, lastEvent = '{"type":"done"'): Promise<StreamConnection> {
  const { hostname, port } = new URL(url)
  const connected = Promise.withResolvers<void>()
  let reading: Reading | undefined
  let tail: Buffer = Buffer.alloc(0)
  const fail = (error: Error) => {
    connected.reject(error)
    reading?.begun.reject(error)
    reading?.ended.reject(error)
    reading = undefined
    socket.destroy()
  }
  const onBytes = (bytes: Buffer): void => {
    if (!reading) return fail(new Error('bytes that no request asked for'))
    if (tail.length === 0 && !bytes.subarray(0, okStatus.length).equals(okStatus)) {
      return fail(new Error(bytes.toString('utf8', 0, tailBytes)))
    }
    reading.events += countEvents(bytes, tail.at(-1))
    tail = tailOf(tail, bytes)
    if (reading.firstEventMs === 0 && reading.events > 0) {
      reading.firstEventMs = performance.now() - reading.sentAt
      reading.begun.resolve()
    }
    if (tail.toString('latin1', tail.length - bodyEnd.length) !== bodyEnd) return
    if (!tail.includes(lastEvent)) return fail(new Error(`a stream without an end: ${tail.toString()}`))
    const { ended, events, firstEventMs } = reading
    reading = undefined
    tail = Buffer.alloc(0)
    ended.resolve({ events, firstEventMs })
  }
  const socket: Socket = connect({
    host: hostname,
    port: Number(port),
    noDelay: true,
    onread: {
      // All connections share the buffer, because each read is processed before the next one.
      buffer: sharedBuffer,
      callback: (count) => {
        onBytes(sharedBuffer.subarray(0, count))
        return true
      },
    },
  })
  socket.on('connect', () => connected.resolve())
  socket.on('error', fail)
  socket.setTimeout(silenceMs, () => fail(new Error(`${silenceMs} ms without a byte`)))
  socket.on('close', () => fail(new Error('the server closed the connection')))
  await connected.promise
  return {
    open: (request) => {
      const begun = Promise.withResolvers<void>()
      const ended = Promise.withResolvers<StreamEnd>()
      // The caller may await only one of these promises. Prevent an unhandled rejection of the other one.
      begun.promise.catch(() => undefined)
      ended.promise.catch(() => undefined)
      reading = { sentAt: performance.now(), events: 0, firstEventMs: 0, begun, ended }
      socket.write(request)
      return { begun: begun.promise, ended: ended.promise }
    },
    close: () => socket.destroy(),
  }
}

const sharedBuffer = Buffer.alloc(readBytes)
const okStatus = Buffer.from('HTTP/1.1 200')

/** Counts event lines, which end with a line feed alone. HTTP lines end with a carriage return and a line feed. */
function countEvents(bytes: Buffer, byteBefore: number | undefined): number {
  let events = bytes[0] === newline && byteBefore !== carriageReturn ? 1 : 0
  for (let at = 1; at < bytes.length; at++) if (bytes[at] === newline && bytes[at - 1] !== carriageReturn) events++
  return events
}

function tailOf(tail: Buffer, bytes: Buffer): Buffer {
  if (bytes.length >= tailBytes) return Buffer.from(bytes.subarray(-tailBytes))
  return Buffer.concat([tail, bytes]).subarray(-tailBytes)
}
