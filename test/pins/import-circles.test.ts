import { expect, test } from 'vitest'
import { imports, type Import } from './read-imports.ts'

// Files that import each other, even if only types, cannot be read, moved or understood separately.

/** Returns the files of a cycle, each importing the next; undefined if there is none. */
function circleIn(of: readonly Pick<Import, 'from' | 'to'>[]): string | undefined {
  const targets = new Map<string, string[]>()
  for (const { from, to } of of) targets.set(from, [...(targets.get(from) ?? []), to])
  const isOver = new Set<string>()
  const path: string[] = []
  const visit = (file: string): string | undefined => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file].join(' → ')
    if (isOver.has(file)) return undefined
    path.push(file)
    for (const target of targets.get(file) ?? []) {
      const found = visit(target)
      if (found !== undefined) return found
    }
    path.pop()
    isOver.add(file)
    return undefined
  }
  for (const file of targets.keys()) {
    const found = visit(file)
    if (found !== undefined) return found
  }
  return undefined
}

test('names an import cycle by its files', () => {
  const line = [
    { from: 'a', to: 'b' },
    { from: 'b', to: 'c' },
    { from: 'b', to: 'd' },
  ]
  expect(circleIn(line)).toBeUndefined()
  expect(circleIn([...line, { from: 'd', to: 'b' }])).toBe('b → d → b')
})

test('no server files import each other in a cycle', () => {
  const ofServer = imports.filter(({ from }) => /^(?:server|openapi)\//.test(from))
  expect(ofServer.length).toBeGreaterThan(300)
  expect(circleIn(ofServer)).toBeUndefined()
})
