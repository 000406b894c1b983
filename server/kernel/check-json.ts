import type { ErrorDetail } from './errors.ts'

export const jsonDepthMax = 100

/** An open container, and how many of its members have been checked. */
type Frame = { container: Record<string, unknown> | unknown[]; keys: readonly string[] | null; next: number }

/**
 * Returns why parsed JSON cannot be stored and passed to agents, with its path; undefined if it can. Rejects nesting
 * deeper than 100 levels, lone surrogates, and keys named `__proto__`. Also rejects numbers beyond a double, which
 * parse to Infinity and would be written back as null. Walks without recursion and keeps one frame per level, so that
 * no body can exhaust the stack or memory.
 */
export function findUnfitJson(root: unknown): ErrorDetail | undefined {
  // The root is checked as the only member of an array. The array's index is not part of a path.
  const stack: Frame[] = [{ container: [root], keys: null, next: 0 }]
  for (let frame = stack.at(-1); frame; frame = stack.at(-1)) {
    const { container, keys, next } = frame
    if (next === (keys ?? (container as unknown[])).length) {
      stack.pop()
      continue
    }
    frame.next++
    const key = keys ? keys[next]! : next
    const value = (container as Record<PropertyKey, unknown>)[key]
    const isContainer = typeof value === 'object' && value !== null
    const message = isContainer && stack.length > jsonDepthMax ? tooDeep : unfitness(key, value)
    if (message !== undefined) return { path: pathOf(stack), message }
    if (isContainer) stack.push(frameOf(value))
  }
  return undefined
}

const tooDeep = `Is nested deeper than ${jsonDepthMax} levels`

function frameOf(value: object): Frame {
  if (Array.isArray(value)) return { container: value, keys: null, next: 0 }
  return { container: value as Record<string, unknown>, keys: Object.keys(value), next: 0 }
}

function unfitness(key: string | number, value: unknown): string | undefined {
  if (key === '__proto__') return 'Is a property name that is not allowed'
  if (typeof key === 'string' && !key.isWellFormed()) return `Is a property name with ${halfCharacter}`
  if (typeof value === 'string' && !value.isWellFormed()) return `Contains ${halfCharacter}`
  if (typeof value === 'number' && !Number.isFinite(value)) return 'Is a number outside the range of a double'
  return undefined
}

const halfCharacter = 'an unpaired surrogate, which is not a valid character'

/** Limit for a path, which is part of the response. A single key can be as long as the body. */
const pathCharsMax = 1000

function pathOf(stack: readonly Frame[]): string {
  let path = ''
  for (const { keys, next } of stack.slice(1)) {
    if (path.length > pathCharsMax) break
    if (keys) path += `${path === '' ? '' : '.'}${keys[next - 1]!.slice(0, pathCharsMax + 1)}`
    else path += `[${next - 1}]`
  }
  const shown = path.length > pathCharsMax ? `${path.slice(0, pathCharsMax)}…` : path
  return shown.toWellFormed()
}
