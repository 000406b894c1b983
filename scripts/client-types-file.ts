import { z, type ZodType } from 'zod'
import { schemaType, type JsonSchema } from '../client/types/schema-types.ts'
import { ChatEvent } from '../server/chat/chat-schema.ts'
import { assert } from '../server/kernel/assert.ts'
import { errorCatalogue } from '../server/kernel/errors.ts'
import { TaskEvent } from '../server/tasks/task-schema.ts'
import { describedRouter, proceduresOf } from '../server/edge/root-router.ts'
import { definitionOf } from '../server/procedures/procedure.ts'

/**
 * Generates `client/types/api-types.ts`: the inputs and outputs of every procedure, as types without library imports.
 */
export function clientTypesFile(): string {
  const named = new Map<string, string>()
  const kinds = new Map<string, string[]>(['query', 'mutation'].map((kind) => [kind, []]))
  typeOf(ChatEvent, 'output', named)
  typeOf(TaskEvent, 'output', named)
  const procedures = proceduresOf(describedRouter)
  for (const [name, procedure] of Object.entries(procedures)) {
    const { inputs, output, type } = definitionOf(procedure)
    const [input] = inputs
    const lines = kinds.get(type)
    assert(input && lines, 'a procedure is a query or a mutation and has an input')
    // A procedure without an output is a stream, which has its own interface.
    if (!output) continue
    const types = [typeOf(input, 'input', named), typeOf(output, 'output', named)]
    lines.push(`  '${name}': {\n    input: ${types[0]}\n    output: ${types[1]}\n  }\n`)
  }
  const chat = procedures['chat.stream']
  const chatInput = chat && definitionOf(chat).inputs[0]
  assert(chatInput, 'a chat has an input')
  const codes = Object.keys(errorCatalogue).map((code) => `'${code}'`)
  return [
    '// Written by `npm run reference` from the schemas of the procedures; a test fails while it differs from them.\n',
    `/** What the service refuses or fails with. */\nexport type ErrorCode = ${codes.join(' | ')}\n`,
    `/** One thing that is wrong with a request: \`path\` names the field, for example \`params.text\`. */\nexport type ErrorDetail = { path: string; message: string }\n`,
    ...[...named].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([name, type]) => `export type ${name} = ${type}\n`),
    `/** A message to a session. */\nexport type ChatInput = ${typeOf(chatInput, 'input', named, '')}\n`,
    `export type Queries = {\n${kinds.get('query')!.join('')}}\n`,
    `export type Mutations = {\n${kinds.get('mutation')!.join('')}}\n`,
  ].join('\n')
}

function typeOf(schema: ZodType, io: 'input' | 'output', named: Map<string, string>, indent = '    '): string {
  const { $defs = {}, ...whole } = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      // The JSON Schema that a custom schema stands for, as in the OpenAPI document.
      Object.assign(jsonSchema, z.globalRegistry.get(zodSchema)?.['override'])
    },
  }) as JsonSchema & { $defs?: Record<string, JsonSchema> }
  for (const [name, definition] of Object.entries($defs)) {
    const type = schemaType(definition)
    assert((named.get(name) ?? type) === type, 'a name stands for one type')
    named.set(name, type)
  }
  return schemaType(whole, indent)
}
