import type { ErrorDetail } from './errors.ts'

export const jsonDepthMax = 100

type Frame = { container: Record<string, unknown> | unknown[]; keys: readonly string[] | null; next: number }

/**
 * Returns the first problem that prevents parsed JSON from being stored and passed to agents, or undefined. Rejects
 * nesting deeper than 100 levels, lone surrogates, and keys named `__proto__`. Also rejects numbers outside the range
 * of a double, which parse to Infinity and would be stored as null. Uses a stack with one frame per level instead of
 * recursion, so that no body can exhaust the call stack or memory.
 */
export function findUnfitJson(root: unknown): ErrorDetail | undefined {
  // Wrap the root in an array, so that the loop checks it like any nested value. Paths omit the wrapper's index.
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

const tooDeep = `Must have at most ${jsonDepthMax} levels of nesting`

function frameOf(value: object): Frame {
  if (Array.isArray(value)) return { container: value, keys: null, next: 0 }
  return { container: value as Record<string, unknown>, keys: Object.keys(value), next: 0 }
}

function unfitness(key: string | number, value: unknown): string | undefined {
  if (key === '__proto__') return 'Must be renamed, because this property name is not allowed'
  if (typeof key === 'string' && !key.isWellFormed()) return `Must not have a property name with ${halfCharacter}`
  if (typeof value === 'string' && !value.isWellFormed()) return `Must not contain ${halfCharacter}`
  if (typeof value === 'number' && !Number.isFinite(value)) return 'Must be a number within the range of a double'
  return undefined
}

const halfCharacter = 'an unpaired surrogate'

/** Maximum length of a path in an error, so that one long key cannot make the error as large as the body. */
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
