import { expect, test } from 'vitest'
import { z } from 'zod'
import { sampleParams } from '../../server/cli/sample-params.ts'

const schemas = {
  'no fields': z.object({}),
  'required fields of each type': z.object({
    text: z.string().min(12),
    code: z.string().max(3),
    count: z.number().int().min(5),
    share: z.number(),
    isUrgent: z.boolean(),
    kind: z.enum(['short', 'long']),
    tags: z.array(z.string()).min(2),
    inner: z.object({ name: z.string() }),
    either: z.union([z.string(), z.number()]),
    fixed: z.literal('yes'),
  }),
  'optional fields': z.object({ note: z.string().optional(), limit: z.number().default(3) }),
}

test.each(Object.entries(schemas))('params with %s validate', (_, schema) => {
  expect(schema.safeParse(sampleParams(z.toJSONSchema(schema))).error).toBeUndefined()
})

test('an example of the schema is used as it is', () => {
  const schema = z.object({ text: z.string() }).meta({ examples: [{ text: 'As in the example' }] })
  expect(sampleParams(z.toJSONSchema(schema))).toEqual({ text: 'As in the example' })
})
