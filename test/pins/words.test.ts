import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

// Wording of comments and docs, as far as patterns can judge it. Prose that passes may still need a second reading.

const root = fileURLToPath(new URL('../../', import.meta.url))

/** Openers of a fragment, instead of what a thing is or does. */
const frontedOpener =
  /^(?:What|Of|As|By|Whose|Whom|Those|Whoever|Whatever|Whichever|Where|To whom|In whose|Who|Told|So many|So much|Until when|From when|Since when|Besides?|Else)\b(?! (?:is|are|if|to do|happens) )/
/** Expressions for which engineers have a shorter term. */
const unusual =
  /\b(?:whoever|nobody|somebody|tells? of|told of|(?:is|are) told|at work|under way|anew|of (?:its|their) own|by itself|goes? through|is gone through|as many as|so far as|may be many|(?<!there )(?:is|are) no (?!longer|such|more)|has no more|its place|what is meant|in the place of|a text\b|texts|mend(?:s|ed)?|begun|gives? out|given out|takes? away)\b/i
/** Literal states and names in comments that a pattern takes for prose. */
const literal = /`[^`]*`|──[^─]*/g

function filesIn(folder: string, ending: RegExp): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => ending.test(name) && !/node_modules|dist\/|api-types/.test(name))
    .map((name) => `${folder}/${name}`)
}

function commentsOf(file: string): { at: string; text: string }[] {
  const source = readFileSync(join(root, file), 'utf8')
  const blocks = [...source.matchAll(/^[ \t]*(?:\/\*\*?([\s\S]*?)\*\/|((?:\/\/.*(?:\n[ \t]*)?)+))/gm)]
  return blocks.map(({ 1: block, 2: lines, index }) => ({
    at: `${file}:${source.slice(0, index).split('\n').length}`,
    text: (block ?? lines ?? '')
      .replaceAll(/^[ \t]*(?:\*|\/\/)/gm, '')
      .replaceAll(literal, '')
      .replaceAll(/\s+/g, ' ')
      .trim(),
  }))
}

const comments = ['server', 'client', 'console', 'openapi', 'scripts', 'site', 'bench']
  .flatMap((folder) => filesIn(folder, /\.(?:ts|tsx|mjs)$/))
  .flatMap(commentsOf)

test('comments begin with a verb or a noun, and use standard terms', () => {
  expect(comments.length).toBeGreaterThan(3000)
  const found = comments.filter(({ text }) => frontedOpener.test(text) || unusual.test(text))
  expect(found).toEqual([])
})

test('sentences of the docs are short', () => {
  const pages = [...filesIn('docs', /\.md$/), 'README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'CHANGELOG.md']
  const sentences = pages.flatMap((page) => {
    const prose = readFileSync(join(root, page), 'utf8').replaceAll(/^```[\s\S]*?^```/gm, '')
    const paragraphs = prose.split(/\n(?:\s*\n|(?=[-*|#] |\d+\. ))/).filter((text) => !/^\s*(?:[|#]|$)/.test(text))
    return paragraphs.flatMap((text) => text.replaceAll(/\s+/g, ' ').split(/(?<=[.!?]) (?=[A-Z`*])/))
  })
  const words = sentences.map((text) => text.split(' ').length).filter((count) => count >= 4)
  expect(words.length).toBeGreaterThan(1500)
  expect(words.reduce((sum, count) => sum + count, 0) / words.length).toBeLessThanOrEqual(15)
  expect(words.filter((count) => count > 28).length / words.length).toBeLessThanOrEqual(0.02)
})
