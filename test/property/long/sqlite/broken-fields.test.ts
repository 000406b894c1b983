import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ofTier } from '../../../run/tiers.ts'
import { operations, type Json, type Operation } from '../../../pins/documented-answers.ts'
import { breaksOf, type Break } from '../../broken-values.ts'
import { always, expectPromisedRefusal, expectRpcRefusal } from '../../checked-answers.ts'
import { validValue } from '../../document-values.ts'
import { shareWorld, type Sender } from '../../property-world.ts'
import {
  bodySchemaOf,
  knownOf,
  parametersOf,
  procedureOf,
  restRequest,
  rpcRequest,
  validDraft,
  type Draft,
} from '../../request-drafts.ts'

// For every operation in the OpenAPI document: a valid request with one invalid field gets a 400 that names the field,
// and writes nothing.

const runs = ofTier(1, 3)
const shared = shareWorld()

/** Generates invalid values for a URL parameter, as strings. */
function textBreaks(schema: Json): fc.Arbitrary<string>[] {
  const { enum: all, maxLength, maximum, minLength, minimum, type } = schema
  const ways: fc.Arbitrary<string>[] = []
  if (type === 'integer') {
    const odd = ['', 'x', '1.5', '0x10', '1e1', ' 5', '5 ', '+5', '05', '٣', 'NaN', '1_0', '1e400', '--1', '5\0', '1,5']
    ways.push(fc.constantFrom(...odd, '9'.repeat(400)))
    ways.push(fc.integer({ min: maximum + 1 }).map(String), fc.integer({ max: minimum - 1 }).map(String))
  }
  if (all) {
    ways.push(
      fc.constantFrom('', all[0].toUpperCase(), ` ${all[0]}`, `${all[0]}\0`, `${all[0]},${all[1]}`, '__proto__'),
    )
  }
  if (maxLength !== undefined) ways.push(fc.integer({ min: 1, max: 500 }).map((n) => 'é'.repeat(maxLength + n)))
  if (minLength > 0) ways.push(fc.constant(''))
  return ways
}

const senderAndDraft = (operation: Operation) =>
  fc.tuple(fc.constantFrom(...shared.world.sendersOf(operation)), validDraft(shared.world, operation))

async function refuse({ draft, field, operation, sender }: Sending): Promise<void> {
  const sent = { bytes: restRequest(operation, draft, sender.lines) }
  await expectPromisedRefusal(shared.world, { operation, sent }, { status: 400, field })
}

type Sending = { operation: Operation; sender: Sender; draft: Draft; field: string }

const addressed = operations.flatMap((operation) =>
  (['path', 'query'] as const).flatMap((where) =>
    parametersOf(operation, where).flatMap(({ name, schema }) =>
      textBreaks(schema)
        // Only the first kind works in a path parameter, because an empty segment would make a different path.
        .filter((_, index) => where === 'query' || index === 0)
        .map((broken) => ({ operation, where, name, broken })),
    ),
  ),
)

test.each([...Map.groupBy(addressed, ({ operation }) => operation.id)])(
  '%s names a broken URL parameter and writes nothing',
  async (_id, breaks) => {
    for (const { broken, name, operation, where } of breaks) {
      await always(runs, fc.tuple(senderAndDraft(operation), broken), async ([[sender, draft], value]) => {
        const changed = { ...draft, [where]: { ...draft[where], [name]: value } }
        await refuse({ operation, sender, draft: changed, field: name })
      })
    }
  },
)

const repeated = operations.filter(
  (operation) => operation.id !== 'getPayload' && parametersOf(operation, 'query').length > 0,
)

test.each(repeated.map((operation) => [operation.id, operation] as const))(
  '%s rejects a repeated parameter',
  async (_id, operation) => {
    for (const { name, schema } of parametersOf(operation, 'query')) {
      if (schema['type'] === 'array') continue
      const values = validValue(schema, { at: name, known: {} }).map(String)
      await always(runs, fc.tuple(senderAndDraft(operation), values, values), async ([[sender, draft], one, two]) => {
        const pairs = [one, two].map((value) => `${name}=${encodeURIComponent(value)}`).join('&')
        const { path: template } = operation
        const filled = template.replaceAll(/\{(\w+)\}/g, (_match, part: string) => draft.path[part]!)
        const sent = {
          bytes: restRequest({ ...operation, path: `${filled}?${pairs}` }, { path: {}, query: {} }, sender.lines),
        }
        await expectPromisedRefusal(shared.world, { operation, sent }, { status: 400, field: name })
      })
    }
  },
)

const withBody = operations.filter((operation) => bodySchemaOf(operation))
let waysOfBodies = 0

test.each(withBody.map((operation) => [operation.id, operation] as const))(
  '%s names a broken body field and writes nothing',
  async (_id, operation) => {
    const known = knownOf(shared.world, operation)
    const ways = breaksOf(bodySchemaOf(operation)!, { at: '', known })
    waysOfBodies += ways.length
    for (const { broken } of ways) {
      await always(runs, fc.tuple(senderAndDraft(operation), broken), async ([[sender, draft], { at, value }]) => {
        await refuse({ operation, sender, draft: { ...draft, body: value }, field: at })
      })
    }
  },
)

function inputSchemaOf(operation: Operation): Json {
  const body = bodySchemaOf(operation) ?? { properties: {}, required: [] }
  const parameters = (['path', 'query'] as const).flatMap((where) => parametersOf(operation, where))
  const required = parametersOf(operation, 'path').map(({ name }) => name)
  return {
    type: 'object',
    properties: { ...Object.fromEntries(parameters.map(({ name, schema }) => [name, schema])), ...body['properties'] },
    required: [...required, ...(body['required'] ?? [])],
  }
}

/** Operations whose procedures work without any input. */
const takesNothing = new Set([
  'getAccount',
  'getMail',
  'getSystem',
  'endLogins',
  'getLoginOptions',
  'logOut',
  'removePaymentMethod',
])

const inRpc = operations.filter((operation) => procedureOf(operation))
let waysOfRpc = 0

test.each(inRpc.map((operation) => [operation.id, operation] as const))(
  'the procedure of %s names a broken input field and writes nothing',
  async (id, operation) => {
    const { ids } = shared.world
    const path = parametersOf(operation, 'path').map(({ name }) => [name, fc.constant(ids[name])])
    const known = { ...knownOf(shared.world, operation), ...Object.fromEntries(path) }
    const ways: Break[] = breaksOf(inputSchemaOf(operation), { at: '', known })
    waysOfRpc += ways.length
    const procedure = procedureOf(operation)!
    const senders = fc.constantFrom(...shared.world.sendersOf(operation))
    for (const { broken } of ways) {
      await always(runs, fc.tuple(senders, broken), async ([sender, { at, value }]) => {
        await expectRpcRefusal(shared.world, rpcRequest(procedure, value, sender.lines), { status: 400, field: at })
      })
    }
    expect(takesNothing.has(id) || ways.length > 8).toBe(true)
  },
)

test('the tests above break fields in at least a thousand ways', () => {
  expect(addressed.length).toBeGreaterThan(100)
  expect(waysOfBodies).toBeGreaterThan(300)
  expect(waysOfRpc).toBeGreaterThan(700)
})
