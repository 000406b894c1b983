import { connect, type Socket } from 'node:net'

// Reads streams of events on sockets. It counts lines as bytes and parses none of them, so that it needs a small part
// of what the servers need that write them.

export type StreamEnd = {
  /** Events, with the last one. */
  events: number
  /** From the request to the end of the first event. */
  firstEventMs: number
}

export type StreamConnection = {
  /** Sends a request for a chat; `begun` is its first event, `ended` its last one, which must be the one that a stream ends with. */
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
/** The last chunk of a body; a carriage return occurs in no event, so only the end reads like this. */
const bodyEnd = '\r\n0\r\n\r\n'
/** Holds the last event and the end of its body. */
const tailBytes = 1024
const readBytes = 65_536
const silenceMs = 30_000

/** `lastEvent` is what the last event has, and no text of another. */
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
      // One for every connection: what was read is counted before anything else is read.
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
      // Whoever awaits only one of them is not to be stopped by the other.
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

/** A line of an event ends with a newline alone, one of the protocol with a carriage return before it. */
function countEvents(bytes: Buffer, byteBefore: number | undefined): number {
  let events = bytes[0] === newline && byteBefore !== carriageReturn ? 1 : 0
  for (let at = 1; at < bytes.length; at++) if (bytes[at] === newline && bytes[at - 1] !== carriageReturn) events++
  return events
}

function tailOf(tail: Buffer, bytes: Buffer): Buffer {
  if (bytes.length >= tailBytes) return Buffer.from(bytes.subarray(-tailBytes))
  return Buffer.concat([tail, bytes]).subarray(-tailBytes)
}
