import type { Command } from 'commander'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createProgram } from '../../server/cli/command-line.ts'
import { root } from './read-imports.ts'

const files = ['README.md', 'CONTRIBUTING.md', ...globSync('{docs/**,examples/*,client}/*.md', { cwd: root })]
const pages = files.map((file) => ({ file, text: readFileSync(join(root, file), 'utf8') }))
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: object }

/** Returns the words of each command that `pattern` matches in shell blocks and inline code, without comments. */
function inCode(pattern: RegExp): { file: string; words: string[] }[] {
  return pages.flatMap(({ file, text }) => {
    const blocks = [...text.matchAll(/^```sh\n([\s\S]*?)^```/gm)].flatMap(([, block]) =>
      block!.replaceAll('\\\n', ' ').split('\n'),
    )
    const inline = [...text.replaceAll(/^```[\s\S]*?^```/gm, '').matchAll(/`([^`]+)`/g)].map(([, code]) => code!)
    return [...blocks, ...inline]
      .flatMap((line) => [...line.matchAll(pattern)].map(([, one, other]) => (one ?? other)!))
      .map((command) => ({
        file,
        words: command
          .split(/\s+#|&&|[;|>&()]/)[0]!
          .trim()
          .split(/\s+/),
      }))
  })
}

/** Returns what is wrong with a command of `errand`; undefined if nothing is. */
function problemOf(words: readonly string[]): string | undefined {
  let command: Command = createProgram()
  const rest = words.map((word) => word.replaceAll(/^\[|\]$/g, ''))
  while (rest.length > 0) {
    const next = command.commands.find((one) => one.name() === rest[0])
    if (!next) break
    command = next
    rest.shift()
  }
  const [first] = rest
  const isGroup = command.commands.length > 0
  if (isGroup && first !== undefined && !/^(?:-|[A-Z…]|\w+\|)/.test(first)) return `unknown command ${first}`
  const known = new Set([...command.options.flatMap(({ long, short }) => [long, short]), '--help', '--version'])
  const unknown = rest.map((word) => word.split('=')[0]!).find((word) => /^--?[a-z]/.test(word) && !known.has(word))
  return unknown && `unknown option ${unknown} of ${command.name()}`
}

test('every errand command in the docs exists and has these options', () => {
  const commands = inCode(/(?:^|npx )errand (.+)|npm run (?:--silent )?errand -- (.+)/g)
  expect(commands.length).toBeGreaterThan(60)
  const wrong = commands.map(({ file, words }) => ({ file, command: words.join(' '), problem: problemOf(words) }))
  expect(wrong.filter(({ problem }) => problem !== undefined)).toEqual([])
})

test('every npm script in the docs exists', () => {
  const own = 'examples/starter/README.md'
  const used = inCode(/npm run (?:--silent )?([\w:-]+)/g).filter(({ file }) => file !== own)
  expect(used.length).toBeGreaterThan(40)
  expect(used.filter(({ words }) => !((words[0] ?? '') in scripts))).toEqual([])
})
