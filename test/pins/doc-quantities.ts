import { readFileSync } from 'node:fs'

const words = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten']
/** Possible sizes of each unit, in milliseconds, bytes or plain numbers. Docs use MB for both 10^6 and 2^20 bytes. */
const units: Record<string, number[]> = {
  ms: [1],
  s: [1000],
  h: [3_600_000],
  min: [60_000],
  second: [1000],
  minute: [60_000],
  hour: [3_600_000],
  day: [86_400_000],
  week: [604_800_000],
  KB: [1000, 1024],
  K: [1000, 1024],
  MB: [1_000_000, 1024 ** 2],
  megabyte: [1_000_000, 1024 ** 2],
  GB: [1_000_000_000, 1024 ** 3],
  million: [1_000_000, 1024 ** 2],
}
/** Units of settings and constants, by the end of their names. */
const endings: [end: RegExp, unit: number][] = [
  [/Seconds(?:Max|Default)?$/, 1000],
  [/Mb$/, 1024 ** 2],
]

const number = String.raw`\$?(?:\d[\d,]*(?:\.\d+)?|\b(?:${words.join('|')}|an?)\b)`
const unit = String.raw`(?:ms|s|h|min|KB?|MB|GB|million|megabyte|(?:second|minute|hour|day|week)s?)\b`
/** A number in digits or words, with its unit if one follows. */
export const quantity = `${number}(?: ${unit})?`

/** True if the text, such as "5 MB" or "a day", equals the value of the setting or constant of that name. */
export function means(text: string, { name, value }: { name: string; value: number }): boolean {
  const [first = '', ofUnit] = text.replace('$', '').split(' ')
  const count = /^\d/.test(first) ? Number(first.replaceAll(',', '')) : Math.max(words.indexOf(first.toLowerCase()), 1)
  if (ofUnit === undefined) return count === value
  const scale = endings.find(([end]) => end.test(name))?.[1] ?? 1
  return (units[ofUnit] ?? units[ofUnit.replace(/s$/, '')] ?? []).some((one) => count * one === value * scale)
}

/** Escapes a literal for a pattern; Node 22 has no `RegExp.escape`. */
export const escaped = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)

/** Reads `name = 2 * 1024`, `name: 20` or `name(20` in a file of server/, so that it need not be exported for a test. */
export function constantOf(file: string, name: string): number {
  const source = readFileSync(new URL(`../../server/${file}`, import.meta.url), 'utf8')
  const factors = new RegExp(String.raw`(?<!\w)${escaped(name)}(?: = |: |\()(\d[\d_. *]*)`).exec(source)?.[1]
  if (factors === undefined) throw new Error(`${file} has no number ${name}`)
  return factors.split('*').reduce((product, factor) => product * Number(factor.replaceAll('_', '')), 1)
}
