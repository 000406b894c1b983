import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { fieldSections } from '../../scripts/config-fields.ts'
import { clientOnlyWords, taskFailureWords, turnEndWords } from '../../scripts/error-words.ts'
import { streamCode } from '../../server/chat/event-lines.ts'
import { errorCatalogue, type ErrorCode } from '../../server/kernel/errors.ts'
import { limits, limitVariable, variables, type LimitName } from '../../server/kernel/settings.ts'
import { eventsPath } from '../../server/payments/receive-events.ts'
import { bounds } from './doc-bounds.ts'
import { constantOf, escaped, means, quantity } from './doc-quantities.ts'

// Compares the values in README.md, the guides and the reference with the code. Each test checks one kind of value and
// counts its matches, so that none passes without finding any. doc-bounds.ts lists the numbers that no rule can find.

const root = fileURLToPath(new URL('../../', import.meta.url))
const read = (file: string) => readFileSync(join(root, file), 'utf8')

const pages = ['README.md', ...globSync('docs/{guides,reference}/*.md', { cwd: root })].map((file) => {
  const text = read(file)
  return { file, text, prose: text.replaceAll(/^```[\s\S]*?^```/gm, '').replaceAll(/\s+/g, ' ') }
})

type Found = { file: string; whole: string; first: string; second: string; third: string | undefined }

function find(pattern: RegExp, where: 'text' | 'prose' = 'prose'): Found[] {
  return pages.flatMap(({ file, ...page }) =>
    Array.from(page[where].matchAll(pattern), ([whole, first = '', second = '', third]) => {
      return { file, whole, first, second, third }
    }),
  )
}

const swapped = ({ first, second, ...found }: Found): Found => ({ ...found, first: second, second: first })

function expectAll(found: Found[], least: number, isRight: (found: Found) => boolean): void {
  expect(found.length).toBeGreaterThanOrEqual(least)
  expect(found.filter((one) => !isRight(one)).map(({ file, whole }) => `${file}: ${whole}`)).toEqual([])
}

const defaults = new Map<string, number>(
  Object.entries(limits).flatMap(([name, limit]) => [
    [name, limit.default],
    [limitVariable(name as LimitName), limit.default],
  ]),
)
const codes = new Set([
  ...[errorCatalogue, taskFailureWords, turnEndWords, clientOnlyWords].flatMap(Object.keys),
  streamCode('NOT_FOUND'),
])
/** Names of other programs, of the quickstart, and of the programs in examples. */
const foreignVariable =
  /^(?:(?:ANTHROPIC|BASE|CAP|CORP|GITHUB|LD|MALLOC|NODE|OPENAI|OTEL|POSTGRES|READER)_\w+|RESPONSE_ALREADY_SENT|ERRAND_(?:API_KEY|URL|KEY|PLATFORM_KEY|WEBHOOK_SECRET|MODEL_\w+))$/

test('every UPPER_CASE name is an error code or a setting', () => {
  const names = find(/\b[A-Z]{2,}(?:_[A-Z\d]+)+\b/g, 'text')
  const isKnown = (name: string) => codes.has(name) || Object.hasOwn(variables, name) || defaults.has(name)
  expectAll(names, 300, ({ whole }) => isKnown(whole) || foreignVariable.test(whole))
})

test('an error code next to a status has that status', () => {
  const before = find(/\b([45]\d\d)[,:]? \(?`([A-Z_]+)`/g)
  const after = find(/`([A-Z_]+)`(?: \(| \| )([45]\d\d)\b/g).map(swapped)
  const statusOf = new Map(Object.entries(errorCatalogue).map(([code, { status }]) => [`${code} ${status}`, code]))
  for (const code of Object.keys(errorCatalogue) as ErrorCode[]) {
    statusOf.set(`${streamCode(code)} ${errorCatalogue[code].status}`, code)
  }
  expectAll([...before, ...after], 35, ({ first, second }) => statusOf.has(`${second} ${first}`))
})

test('every response status that the docs name is in the error catalog', () => {
  const statuses = new Set(Object.values(errorCatalogue).map(({ status }) => String(status)))
  const answered = find(/(?:\((?:an? )?|\b(?:gets?|is|are|returns?|with|answers?) )([45]\d\d)(?=[ ,.;:)]|$)/g)
  expectAll(answered, 60, ({ first }) => statuses.has(first))
})

test('a number next to a setting is its default', () => {
  const setting = String.raw`\`(?:limits\.)?(\w+)\``
  const after = find(new RegExp(String.raw`${setting} \((?:default )?(${quantity})(?: by default| USD)?\)`, 'g'))
  const before = find(new RegExp(String.raw`(${quantity})[^.;|()\d]{0,50} \(${setting}\)`, 'g')).map(swapped)
  const stated = [...after, ...before].filter(({ first, second }) => defaults.has(first) && !/^an?$/.test(second))
  expectAll(stated, 15, ({ first, second }) => means(second, { name: first, value: defaults.get(first)! }))
})

test('the stated default of a configuration field matches the schema', () => {
  const fields = new Set(fieldSections().flatMap(({ rows }) => rows.map((row) => `${row.name} ${row.default}`)))
  const stated = find(/`(\w+)`(?: \| | \()default (?!none)([\w,]+)/g)
  expectAll(stated, 5, ({ first, second }) => fields.has(`\`${first}\` ${second}`))
})

test('every metric that the docs name is exported', () => {
  const known = new Set(
    globSync('server/admin/metrics/*.ts', { cwd: root }).flatMap((file) => read(file).match(/errand_\w+/g)),
  )
  const named = find(/\b(errand_[a-z_]+?)(?:_bucket|_count|_sum)?(?=[`{[ ])/g, 'text')
  expectAll(named, 10, ({ first }) => known.has(first) || /^errand_(?:[spc]k|ct|restored|topup|user)$/.test(first))
})

type Schema = { $ref?: string; properties?: object; anyOf?: Schema[]; oneOf?: Schema[]; allOf?: Schema[] }
type Operation = { parameters?: { name: string }[]; requestBody?: { content: Record<string, { schema: Schema }> } }
const { components, paths } = JSON.parse(read('openapi/openapi.json')) as {
  components: { schemas: Record<string, Schema> }
  paths: Record<string, Record<string, Operation>>
}

function fieldsOf({ $ref, allOf = [], anyOf = [], oneOf = [], properties = {} }: Schema): string[] {
  const target = $ref === undefined ? [] : [components.schemas[$ref.split('/').at(-1)!]!]
  return [...Object.keys(properties), ...[...target, ...allOf, ...anyOf, ...oneOf].flatMap(fieldsOf)]
}

/** Replaces ids and variables, so that `/tasks/$TASK` and `/tasks/{taskId}` are equal. */
const general = (path: string) =>
  path.replaceAll(/(?<=\/)(?:\{\w+\}|:\w+|['"]?\$\{?\w+\}?['"]?|[a-z]+_[\w…]+)(?=\/|$)/g, '{}')
const operations = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => {
    return { method: method.toUpperCase(), path: general(path), operation }
  }),
)
/** Paths outside of the OpenAPI document: health, metrics, MCP, OpenAI's API and Stripe's events. */
const otherPaths = new Set([
  eventsPath,
  ...globSync('server/{edge,http}/**/*.ts', { cwd: root }).flatMap((file) =>
    Array.from(read(file).matchAll(/'(\/[\w./{}-]+)'/g), ([, path]) => general(path!)),
  ),
])
/** An agent of a user in an example, and an OpenAI operation that the page calls unsupported. */
const foreignPaths = new Set(['/errand'])

const named = find(/\b(GET|POST|PUT|PATCH|DELETE)`? `?([/…][^\s`|,;)"\\]*)(?:` `\{ ([^}`]*) \}`)?/g, 'text')

/** Finds the operations of a path, or those whose path ends with what follows an ellipsis. */
function operationsOf({ first: method, second: target }: Found): Operation[] {
  const path = general(target.replace(/\?.*$/, ''))
  const matches = (one: string) => (path.startsWith('…') ? one.endsWith(path.slice(1)) : one === path)
  return operations.flatMap((one) => (one.method === method && matches(one.path) ? [one.operation] : []))
}

test('every METHOD /path is an operation', () => {
  expectAll(named, 120, (one) => {
    const path = general(one.second.replace(/\?.*$/, ''))
    return otherPaths.has(path) || foreignPaths.has(path) || operationsOf(one).length > 0
  })
})

test('every /api path is in the OpenAPI document', () => {
  const used = find(/(?<=[\s`"'(]|:3000|example\.com|\$ERRAND_URL|\$BASE_URL)(\/api\/[\w/{}$:-]*[\w}])/g, 'text')
  expectAll(used, 100, ({ first }) => otherPaths.has(first) || operations.some(({ path }) => path === general(first)))
})

test('query parameters and body fields next to an operation belong to it', () => {
  const withFields = named.flatMap((one) => {
    const query = /\?(.*)$/.exec(one.second)?.[1]?.split('&') ?? []
    const body = one.third?.split(', ') ?? []
    const names = [...query, ...body].map((name) => name.replaceAll(/[?"]|[=:].*$/g, ''))
    return names.length > 0 && !foreignPaths.has(one.second) ? [{ ...one, names }] : []
  })
  const isOwn = ({ names, ...one }: (typeof withFields)[number]) =>
    operationsOf(one).some(({ parameters = [], requestBody }) => {
      const body = Object.values(requestBody?.content ?? {}).flatMap(({ schema }) => fieldsOf(schema))
      const own = new Set([...parameters.map(({ name }) => name), ...body])
      return names.every((name) => own.has(name))
    })
  expectAll(withFields, 15, (one) => isOwn(one as (typeof withFields)[number]))
})

/** Names of the AI SDK, Next.js, vitest, Kubernetes, and other packages that the guides use. */
const foreignName =
  /^(?:beforeAll|onToolCall|addToolOutput|previousResponseId|maxDuration|resetTimeoutOnProgress|responseType|parseAs|runAsUser|fsGroup|readOnlyRootFilesystem|terminationGracePeriodSeconds)$/

test('every camelCase name in backticks exists in the code', () => {
  const files = globSync(['{server,client,openapi}/**/*.{ts,tsx,json}', 'examples/**/*.ts'], {
    cwd: root,
    exclude: ['**/node_modules/**'],
  })
  const known = new Set(files.flatMap((file) => read(file).match(/\b[a-z]+(?:[A-Z][a-z\d]*)+\b/g) ?? []))
  const quoted = find(/`[^`]*`/g).flatMap((found) =>
    Array.from(found.whole.matchAll(/(?<![\w.-])[a-z]+(?:[A-Z][a-z\d]*)+\b/g), ([whole]) => ({ ...found, whole })),
  )
  expectAll(quoted, 400, ({ whole }) => known.has(whole) || foreignName.test(whole))
})

const statements = Object.entries(bounds).flatMap(([file, rows]) => rows.map((row) => [file, ...row] as const))

test.each(statements)('%s: "%s"', (file, phrase, source, name) => {
  const [before, after] = phrase.split('{}').map(escaped) as [string, string]
  const stated = new RegExp(`${before}(${quantity})${after}`).exec(pages.find((page) => page.file === file)!.prose)?.[1]
  expect(stated, 'the phrase is on the page').toBeDefined()
  const value = source === 'settings' ? defaults.get(name)! : constantOf(source, name)
  expect(means(stated!, { name, value }), `${stated} for ${name}, ${value} in server/${source}`).toBe(true)
})

test('the docs state the schedules on which webhooks and emails are retried', () => {
  const schedules = [
    ['docs/guides/webhooks.md', 'webhooks/webhook-dispatcher.ts', 1000, /immediately, then after (.+?)\. /],
    ['docs/guides/mail.md', 'mails/mail-sender.ts', 60_000, /retries after (.+?) minutes, and then less often/],
  ] as const
  for (const [page, source, unitMs, phrase] of schedules) {
    const [, listed = ''] = phrase.exec(pages.find(({ file }) => file === page)!.prose) ?? []
    const [, values = ''] = /pausesMs = \[([^\]]+)\]/.exec(read(`server/${source}`)) ?? []
    const pauses = values
      .split(',')
      .map((value) => value.split('*').reduce((product, one) => product * Number(one), Number(unitMs)))
    const stated = listed.split(/, | and /).map((one) => (/[a-z]/.test(one) ? one : `${one} min`))
    expect(stated.length, page).toBeGreaterThan(4)
    expect(
      stated.filter((one, n) => !means(one, { name: 'pausesMs', value: pauses[n]! })),
      page,
    ).toEqual([])
  }
})

test('the tables of the README and the guides are narrower than 120 characters', () => {
  const rows = pages
    .filter(({ file }) => !file.startsWith('docs/reference/'))
    .flatMap(({ file, text }) => Array.from(text.matchAll(/^\|.*$/gm), ([row]) => ({ file, row })))
  expect(rows.length).toBeGreaterThan(100)
  expect(rows.filter(({ row }) => row.length >= 120)).toEqual([])
})

test('the README has at most 150 lines, and takes less than five minutes to read aloud', () => {
  const readme = read('README.md')
  expect(readme.split('\n').length - 1).toBeLessThanOrEqual(150)
  const spoken = readme
    .replaceAll(/^```[\s\S]*?^```/gm, '')
    .replaceAll(/^!.*$/gm, '')
    .replaceAll(/\]\([^)]*\)/g, ']')
  // People read 150 words per minute.
  expect(spoken.match(/\S*\w\S*/g)!.length).toBeLessThan(5 * 150)
})
