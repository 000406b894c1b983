import { expect, test } from 'vitest'
import { endpointDeclarations } from '../../client/bin/endpoint-declarations.ts'
import type { Agent } from '../../client/client.ts'
import { schemaType } from '../../client/types/schema-types.ts'

const types: [schema: unknown, type: string][] = [
  [{ type: 'string', minLength: 1 }, 'string'],
  [{ type: 'integer', minimum: 0 }, 'number'],
  [{ type: ['string', 'null'] }, 'string | null'],
  [{ enum: ['a', 1, null, 'a'] }, '"a" | 1 | null'],
  [{ const: "it's" }, '"it\'s"'],
  [{ anyOf: [{ type: 'string' }, { type: 'null' }] }, 'string | null'],
  [{ type: 'array', items: { enum: ['a', 'b'] } }, 'Array<"a" | "b">'],
  [{ type: 'array', items: { type: 'boolean' } }, 'boolean[]'],
  [{ type: 'array' }, 'unknown[]'],
  [{ type: 'object' }, 'Record<string, unknown>'],
  [{ type: 'object', additionalProperties: { type: 'number' } }, 'Record<string, number>'],
  [{ type: 'object', properties: { a: {} }, required: ['a'] }, '{\n  a: unknown\n}'],
  [{ properties: { 'two words': { type: 'string' } } }, '{\n  "two words"?: string | undefined\n}'],
  [
    { type: 'object', properties: { a: {} }, additionalProperties: true },
    '{\n  a?: unknown\n  [name: string]: unknown\n}',
  ],
  [{ type: 'object', properties: { a: { description: 'x */ y\nz' } } }, '{\n  /** x * / y z */\n  a?: unknown\n}'],
  [{ not: {} }, 'unknown'],
  [{ type: 'colour' }, 'unknown'],
  [true, 'unknown'],
  [{ anyOf: [{ type: 'string' }, {}] }, 'unknown'],
]

test.each(types)('%j becomes %s', (schema, type) => expect(schemaType(schema)).toBe(type))

function agentWith(params: Record<string, unknown>, fields: Partial<Agent['endpoints'][number]> = {}): Agent {
  const endpoint = {
    id: 'text.summarize',
    name: 'summarize',
    description: 'Summarizes.',
    priceUsd: '0.0100',
    timeoutSeconds: 1,
    cancel: 'always' as const,
    takesConnectors: true,
    params,
    ...fields,
  }
  return { id: 'text', kind: 'code', name: 'Text', description: '', endpoints: [endpoint], chat: null, inPlan: true }
}

test("turns a service's endpoints into declarations with descriptions and prices", () => {
  const params = {
    type: 'object',
    properties: { text: { type: 'string', description: 'What to read' } },
    required: ['text'],
  }
  expect(endpointDeclarations([agentWith(params)], 'http://127.0.0.1:3000'))
    .toBe(`// Written by \`errand-client types http://127.0.0.1:3000\`: the endpoints that its key may call.

export {}

declare module 'errand-client' {
  interface EndpointTypes {
    /** Summarizes. Costs 0.0100 USD. */
    "text.summarize": {
      params: {
        /** What to read */
        text: string
      }
      response: Record<string, unknown>
    }
  }
}
`)
})

test('a declared output types the response', () => {
  const output = {
    type: 'object',
    properties: { summary: { type: 'string' }, notes: { $ref: '#/$defs/Notes' } },
    required: ['summary', 'notes'],
    additionalProperties: false,
    $defs: { Notes: { type: 'array', items: { type: 'string' } } },
  }
  expect(endpointDeclarations([agentWith({}, { output })], 'x').replace(/\s+/g, ' ')).toContain(
    'response: { summary: string notes: string[] }',
  )
  const either = { anyOf: [{ type: 'object', properties: { a: { const: 1 } }, required: ['a'] }, { type: 'object' }] }
  expect(endpointDeclarations([agentWith({}, { output: either })], 'x').replace(/\s+/g, ' ')).toContain(
    'response: { a: 1 } | Record<string, unknown>',
  )
})

test('inlines references; a recursive or missing reference becomes `unknown`', () => {
  const tree = { type: 'object', properties: { name: { type: 'string' }, child: { $ref: '#/$defs/Tree' } } }
  const params = {
    type: 'object',
    properties: { tree: { $ref: '#/$defs/Tree' }, lost: { $ref: '#/$defs/None' } },
    $defs: { Tree: tree },
  }
  const text = endpointDeclarations([agentWith(params)], 'x').replace(/\s+/g, ' ')
  expect(text).toContain('tree?: { name?: string | undefined child?: unknown } | undefined lost?: unknown }')
})

test('a description cannot end its comment', () => {
  expect(endpointDeclarations([agentWith({}, { description: 'x */ evil() /*' })], 'x')).toContain(
    '/** x * / evil() /* Costs 0.0100 USD. */',
  )
})
