import { connect, type Socket } from 'node:net'
import { clockMs, readStamp } from './model-script.ts'

export type PacedReading = {
  /** Milliseconds from the sending to the arrival of each delta, in order of arrival. */
  readonly lags: number[]
  begun: number
  /** Set if a stream ends before the reader disconnects, which is an error. */
  error: Error | undefined
}

/** Sends a chat on its own connection and records the lag of each delta of its reply. */
export async function readPaced(url: string, request: Buffer, reading: PacedReading): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), noDelay: true })
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve)
    socket.once('error', reject)
  })
  const fail = (text: string) => {
    reading.error ??= new Error(text)
    socket.destroy()
  }
  let rest = ''
  let hasBegun = false
  socket.setEncoding('latin1')
  socket.on('error', ({ message }) => fail(message))
  socket.on('data', (text: string) => {
    const now = clockMs()
    const lines = (rest + text).split('\n')
    rest = lines.pop()!
    for (const line of lines) {
      const sentAt = readStamp(line)
      if (sentAt !== undefined) {
        reading.lags.push(now - sentAt)
        if (!hasBegun) reading.begun++
        hasBegun = true
      } else if (line.startsWith('{') || (line.startsWith('HTTP/') && !line.includes(' 200 '))) fail(line)
    }
  })
  socket.write(request)
  return socket
}
