import { closeSync, existsSync, openSync, readSync, realpathSync, statSync } from 'node:fs'
import { endianness } from 'node:os'
import { codeOf } from '../../../kernel/thrown.ts'

// Distinguishes a damaged write-ahead log from the remains of a crash. SQLite stops reading the log at the first
// frame with a wrong checksum, and treats the rest as the remains of a crash. A damaged byte in the middle would
// therefore silently discard all later commits.
//
//   header 32 bytes: …, page size, …, two salts of this generation, checksum
//   frame  24 bytes: page number, pages after commit (0: no commit), salts, checksum; then the page
//
// Each checksum continues from the previously stored checksum. A frame thus proves which frame was written before it,
// even if that frame is damaged. Each commit is synced before the next transaction writes its first frame. If a frame
// continues from a commit at or after the damage, the damage happened after a sync, and the discarded commits had
// been acknowledged.
//
// Three other cases are never mistaken for damage. In an incomplete tail, no frame follows the commit. Older
// generations have other salts. Frames of a failed commit may remain after a later commit, but they do not continue
// from it, and no frame continues from them. Damage within the last transaction cannot be distinguished from an
// incomplete tail.

// A log's magic number shows the byte order of its checksums.
const littleMagic = 0x377f0682
const bigMagic = 0x377f0683
const headerBytes = 32
const frameHeadBytes = 24
const pageBytesDefault = 4096
const framesAtOnce = 128
const sectorBytes = 512
const settleMs = 20
const triesMax = 50

export type LogDamage = {
  file: string
  /** Offset at which the log would have to be truncated. */
  cutAt: number
  commits: number
  /** How much of the log after the damage a checkpoint has already copied into the database. */
  moved: 'nothing' | 'something' | 'all'
}

type Sums = [number, number]
type Frame = {
  at: number
  page: number
  commit: number
  /** Whether the frame's checksum continues from the previous frame, and its salts are those of the log. */
  isWhole: boolean
  /**
   * Whether the frame's checksum continues from the content of the previous frame, but not from the checksum stored
   * in it.
   */
  provesBefore: boolean
  hasCommitted: boolean
  content: Buffer
}

/** Returns undefined if the log is missing or intact, or if it only lacks its end after a crash or power failure. */
export function findLogDamage(databaseFile: string): LogDamage | undefined {
  if (!existsSync(databaseFile)) return undefined
  // SQLite creates the log next to the target of a symbolic link.
  const database = realpathSync(databaseFile)
  const file = `${database}-wal`
  for (let tries = 0; tries < triesMax; tries++) {
    const before = stampOf(file)
    if (before === undefined || !scan(file)) return undefined
    // A running server may be writing, and a log that restarts during the read looks damaged. Damage counts only if it
    // is found twice in an unchanged log.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, settleMs)
    const found = scan(file)
    if (stampOf(file) === before) return found && { file, ...found, moved: movedOf(database, found.cutAt) }
  }
  // A log that keeps changing belongs to a running server, so opening the database does not start a recovery.
  return undefined
}

export function describeLogDamage({ file, cutAt, commits, moved }: LogDamage): string {
  const cut = `truncate -s ${moved === 'all' ? 0 : cutAt} '${file.replaceAll("'", String.raw`'\''`)}'`
  const many = commits === 1 ? '1 later commit is' : `${commits} later commits are`
  const what = `The log ${file} is damaged after byte ${cutAt}, and ${many} readable after the damage. Restore a backup`
  if (moved === 'all') {
    return `${what}, or stop Errand and empty the log, because the database already contains everything readable: ${cut}`
  }
  if (moved === 'something')
    return `${what}. The log cannot be truncated, because the database already contains some of the later commits.`
  return `${what}, or stop Errand and truncate the log, which loses the later commits: ${cut}`
}

function stampOf(file: string): string | undefined {
  const found = statSync(file, { bigint: true, throwIfNoEntry: false })
  return found && `${found.ino} ${found.size} ${found.mtimeNs}`
}

function scan(file: string): { cutAt: number; commits: number } | undefined {
  let cutAt = 0
  let commits = 0
  let isDamaged = false
  let isCutOff = false
  let before: Frame | undefined
  for (const frame of framesOf(file)) {
    if (frame === 'header') cutAt = headerBytes
    else if (frame === 'damaged header') isDamaged = true
    else {
      if (!frame.isWhole) isDamaged = true
      if (before && frame.isWhole && (frame.provesBefore ? before.commit !== 0 : before.hasCommitted)) isCutOff = true
      before = isDamaged ? frame : undefined
      if (frame.commit === 0) continue
      if (!isDamaged) cutAt = frame.at + frameHeadBytes + frame.content.length
      else if (frame.isWhole) commits++
    }
  }
  return isCutOff ? { cutAt, commits } : undefined
}

/** Returns undefined if a server has deleted the log on exit. */
function openLog(file: string): number | undefined {
  try {
    return openSync(file, 'r')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

function* framesOf(file: string): Generator<Frame | 'header' | 'damaged header'> {
  const log = openLog(file)
  if (log === undefined) return
  try {
    const header = Buffer.alloc(headerBytes)
    if (readSync(log, header, 0, headerBytes, 0) < headerBytes) return
    const stored: Sums = [header.readUInt32BE(24), header.readUInt32BE(28)]
    const isWholeAs = (magic: number) =>
      header.readUInt32BE(0) === magic && same(sumOf(header.subarray(0, 24), [0, 0], magic === bigMagic), stored)
    const isWhole = isWholeAs(littleMagic) || isWholeAs(bigMagic)
    // If the header is damaged, assume the byte order of this machine.
    const isBig = isWhole ? header.readUInt32BE(0) === bigMagic : endianness() === 'BE'
    let before: Before = { stored, held: sumOf(header.subarray(0, 24), [0, 0], isBig) }
    yield isWhole ? 'header' : 'damaged header'
    const frameBytes = frameHeadBytes + (isWhole ? header.readUInt32BE(8) : pageBytesDefault)
    let salts = isWhole ? header.subarray(16, 24) : undefined
    for (let at = headerBytes; ;) {
      const read = Buffer.alloc(frameBytes * framesAtOnce)
      const length = readSync(log, read, 0, read.length, at)
      if (length < frameBytes) return
      for (let start = 0; start + frameBytes <= length; start += frameBytes, at += frameBytes) {
        const bytes = read.subarray(start, start + frameBytes)
        salts ??= Buffer.from(bytes.subarray(8, 16))
        const { frame, sums: next } = frameOf(bytes, { at, before, isBig, salts })
        before = next
        yield frame
      }
    }
  } finally {
    closeSync(log)
  }
}

/** The checksum stored in the log, and the one computed from the content. */
type Before = { stored: Sums; held: Sums }
type Around = { at: number; before: Before; isBig: boolean; salts: Buffer }

function frameOf(bytes: Buffer, { at, before, isBig, salts }: Around): { frame: Frame; sums: Before } {
  const content = bytes.subarray(frameHeadBytes)
  const stored: Sums = [bytes.readUInt32BE(16), bytes.readUInt32BE(20)]
  const after = (head: Buffer, sums: Sums) => sumOf(content, sumOf(head, sums, isBig), isBig)
  const head = bytes.subarray(0, 8)
  let held = after(head, before.stored)
  let goesOn = same(held, stored)
  const provesBefore = !goesOn && !same(before.stored, before.held) && same(after(head, before.held), stored)
  if (provesBefore) [goesOn, held] = [true, stored]
  const commit = bytes.readUInt32BE(4)
  const isOurs = salts.equals(bytes.subarray(8, 16))
  const heldCommit = (value: number) => {
    const original = Buffer.from(head)
    original.writeUInt32BE(value, 4)
    return same(after(original, before.stored), stored)
  }
  const hasCommitted = () => {
    if (goesOn) return commit !== 0
    // The commit field itself may be damaged: it was cleared, or it was set in a frame that is not a commit.
    if (commit === 0) return isOurs && Array.from({ length: 32 }, (_, bit) => 2 ** bit).some(heldCommit)
    // Disks write whole sectors. If a frame's header spans two sectors, half of it may belong to an older frame.
    return (at % sectorBytes) + frameHeadBytes <= sectorBytes && !heldCommit(0)
  }
  const isWhole = goesOn && isOurs
  const page = bytes.readUInt32BE(0)
  return {
    frame: { at, page, commit, isWhole, provesBefore, hasCommitted: hasCommitted(), content },
    sums: { stored, held },
  }
}

function sumOf(bytes: Buffer, [first, second]: Sums, isBig: boolean): Sums {
  const isAligned = bytes.byteOffset % 4 === 0
  const words = isBig || !isAligned ? Buffer.from(Uint8Array.from(bytes).buffer) : bytes
  if (isBig) words.swap32()
  const view = new Int32Array(words.buffer, words.byteOffset, words.length / 4)
  for (let at = 0; at < view.length; at += 2) {
    first = (first + view[at]! + second) | 0
    second = (second + view[at + 1]! + first) | 0
  }
  return [first >>> 0, second >>> 0]
}

function same(one: Sums, other: Sums): boolean {
  return one[0] === other[0] && one[1] === other[1]
}

/**
 * Returns how much of the discarded commits a checkpoint has copied into the database. If it copied only some of their
 * pages, the database is inconsistent without the log.
 */
function movedOf(databaseFile: string, cutAt: number): LogDamage['moved'] {
  const earlier = new Map<number, Buffer>()
  const later = new Map<number, Buffer>()
  for (const frame of framesOf(`${databaseFile}-wal`)) {
    if (typeof frame !== 'string' && frame.isWhole) (frame.at < cutAt ? earlier : later).set(frame.page, frame.content)
  }
  const database = openSync(databaseFile, 'r')
  try {
    let compared = 0
    let moved = 0
    for (const [page, content] of later) {
      if (earlier.get(page)?.equals(content)) continue
      compared++
      const stored = Buffer.alloc(content.length)
      readSync(database, stored, 0, stored.length, (page - 1) * content.length)
      if (stored.equals(content)) moved++
    }
    return moved === 0 ? 'nothing' : moved === compared ? 'all' : 'something'
  } finally {
    closeSync(database)
  }
}
