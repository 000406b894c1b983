import type { ErrorDetail } from './errors.ts'

const depthMax = 100

/**
 * What makes parsed JSON unfit to be stored and handed to agents, by its path; undefined when it is fine. Refused are
 * deeper nesting than 100, numbers beyond a double (which parse to Infinity and would be written back as null), half
 * characters, and keys named `__proto__`. Walks without recursion, so no body can exhaust the stack.
 */
export function findUnfitJson(root: unknown): ErrorDetail | undefined {
  const stack: { value: unknown; path: () => string; depth: number }[] = [{ value: root, path: () => '', depth: 0 }]
  for (let entry = stack.pop(); entry; entry = stack.pop()) {
    const { value, path, depth } = entry
    if (typeof value === 'string') {
      if (!value.isWellFormed())
        return { path: path(), message: 'Contains half of a surrogate pair, which is no character' }
    } else if (typeof value === 'number') {
      if (!Number.isFinite(value)) return { path: path(), message: 'Is a number beyond the range of a double' }
    } else if (typeof value === 'object' && value !== null) {
      if (depth === depthMax) return { path: '', message: `Is nested deeper than ${depthMax} levels` }
      if (Array.isArray(value)) {
        for (const [index, inner] of value.entries()) {
          stack.push({ value: inner, path: () => `${path()}[${index}]`, depth: depth + 1 })
        }
      } else {
        for (const key of Object.keys(value)) {
          const innerPath = () => (path() === '' ? key : `${path()}.${key}`)
          if (key === '__proto__') return { path: innerPath(), message: 'Is a key that is not allowed' }
          if (!key.isWellFormed()) return { path: path(), message: 'Has a key with half of a surrogate pair' }
          stack.push({ value: (value as Record<string, unknown>)[key], path: innerPath, depth: depth + 1 })
        }
      }
    }
  }
  return undefined
}
