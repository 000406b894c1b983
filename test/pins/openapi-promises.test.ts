import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { document, operations } from './documented-answers.ts'

// The document's promises about each operation. The linter's test proves that a running service keeps them.

test('the document is OpenAPI 3.1 and names the credentials that each operation accepts', () => {
  expect(document['openapi']).toMatch(/^3\.1\./)
  expect(document['components'].securitySchemes).toMatchObject({
    apiKey: { type: 'http', scheme: 'bearer' },
    browserSession: { type: 'apiKey', in: 'cookie', name: '__Host-errand' },
    platformKey: { type: 'http', scheme: 'bearer' },
    clientToken: { type: 'http', scheme: 'bearer' },
  })
  const key = ['apiKey', 'browserSession']
  const groups: [credentials: string[], operations: string][] = [
    [[], 'getPayload getLoginOptions logIn checkInvitation acceptInvitation requestPasswordReset requestSignUp'],
    [['browserSession'], 'logOut changePassword eraseAccount createInvitation listInvitations revokeInvitation'],
    [['browserSession'], 'unblockUser listUserTransactions createPasswordLink getSystem listAllTopups'],
    [
      ['browserSession'],
      'createPlatformKey listPlatformKeys getPlatformKey revokePlatformKey revokePlatformClientToken',
    ],
    [
      ['browserSession'],
      'findOwner listUserTasks getUserTask listUserSessions listUserLogins endUserLogin listAudit getMail sendTestMail',
    ],
    [['browserSession', 'platformKey'], 'listUsers getUser getUserByExternalId getOrCreateUser updateUser creditUser'],
    [['browserSession', 'platformKey'], 'createUserKey listUserKeys revokeUserKey eraseUser getEconomics'],
    [key, 'createKey updateKey getKey listKeys revokeKey rotateKey listLogins endLogin endLogins'],
    [key, 'exportAccount'],
    [['platformKey'], 'finishConnectorSignIn'],
    [
      [...key, 'platformKey'],
      'createConnector updateConnector deleteConnector signInConnector signOutConnector updateAccount removePaymentMethod',
    ],
    [[...key, 'platformKey'], 'createWebhook updateWebhook deleteWebhook rotateWebhook testWebhook redeliverEvent'],
    [[...key, 'platformKey'], 'createClientToken listClientTokens revokeClientToken'],
    [
      [...key, 'platformKey'],
      'listConnectors getConnector testConnector listConnectorTools callConnectorTool listConnectorServers',
    ],
    [
      [...key, 'platformKey'],
      'listWebhooks getWebhook listWebhookDeliveries getWebhookDelivery getUsage listTransactions exportTransactions exportTasks',
    ],
    [[...key, 'platformKey', 'clientToken'], 'getAccount createTopup listTopups getTopup'],
    [[...key, 'platformKey', 'clientToken'], 'createTask listTasks getTask cancelTask followTask listAgents getAgent'],
    [[...key, 'platformKey', 'clientToken'], 'createSession listSessions getSession updateSession deleteSession'],
    [[...key, 'platformKey', 'clientToken'], 'listMessages chat readChat readSessionChat stopChat createQuote'],
  ]
  const expected = groups.flatMap(([credentials, ids]) =>
    ids.split(' ').map((id) => [id, credentials.map((credential) => ({ [credential]: [] }))] as const),
  )
  expect(Object.fromEntries(operations.map(({ id, spec }) => [id, spec['security']]))).toEqual(
    Object.fromEntries(expected),
  )
})

test('every tag of an operation is described, and every described tag has an operation', () => {
  const used = operations.flatMap(({ spec }) => spec['tags'] as string[])
  const described = document['tags'].map(({ name }: { name: string }) => name)
  expect([...new Set(used)].toSorted()).toEqual(described.toSorted())
})

test('no generated names differ only in case, and none shadows a JavaScript global', () => {
  const schemas = Object.keys(document['components'].schemas)
  const names = [...schemas, ...operations.map(({ id }) => id[0]!.toUpperCase() + id.slice(1))]
  const byName = Map.groupBy(names, (name) => name.toLowerCase())
  expect([...byName.values()].filter((same) => same.length > 1)).toEqual([])
  expect(schemas.filter((name) => name in globalThis)).toEqual([])
  expect(schemas.length).toBeGreaterThan(70)
})

test('every request and response body with several fields is a named schema', () => {
  const inline = Object.values<any>(document['paths']).flatMap((methods) =>
    Object.values<any>(methods).flatMap(({ operationId, requestBody, responses }) =>
      [requestBody?.content, ...Object.values<any>(responses).map(({ content }) => content)]
        .flatMap((content) => Object.values<any>(content ?? {}))
        .filter(({ schema }) => 'properties' in schema || 'oneOf' in schema)
        .map(() => operationId as string),
    ),
  )
  expect(inline).toEqual([])
})

test('a chat reply is documented as JSON lines, each an event discriminated by its type', () => {
  const { schemas } = document['components']
  const { schema } = document['paths']['/api/chat'].post.responses[200].content['application/x-ndjson']
  expect(schema).toMatchObject({ type: 'string', contentSchema: { $ref: '#/components/schemas/ChatEvent' } })
  const { discriminator, oneOf } = schemas['ChatEvent']
  const types = ['assistant_delta', 'reasoning_delta', 'tool_call', 'tool_result', 'done', 'error']
  expect(discriminator.propertyName).toBe('type')
  expect(Object.keys(discriminator.mapping)).toEqual(types)
  expect(oneOf.map(({ $ref }: { $ref: string }) => $ref)).toEqual(Object.values(discriminator.mapping))
  const named = Object.values<string>(discriminator.mapping).map((ref) => schemas[ref.split('/').at(-1)!])
  expect(named.map(({ properties }) => properties.type.const)).toEqual(types)
})

test('the operations used first have examples, and the version matches the package', () => {
  const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  expect(document['info'].version).toBe(manifest.version)
  for (const id of ['createTask', 'getTask', 'listTasks', 'createSession', 'chat', 'getAccount', 'listTransactions']) {
    const { requestBody, responses } = operations.find((operation) => operation.id === id)!.spec as any
    const [answer] = Object.values<any>(responses[200].content)
    expect(answer.example, id).toBeDefined()
    if (requestBody) expect(requestBody.content['application/json'].example, id).toBeDefined()
  }
})

test('operations that accept an Idempotency-Key say how long it is stored', () => {
  const taking = operations.flatMap(({ id, spec }) => {
    const found = (spec['parameters'] ?? []).find(({ name }: { name: string }) => name === 'Idempotency-Key')
    return found ? [[id, found.description]] : []
  })
  expect(Object.fromEntries(taking)).toEqual({
    createTask: expect.stringMatching(/^Stored for 24 hours: .* gets the first response\.$/),
    createSession: expect.stringMatching(/^Stored for 24 hours: .* gets the first response\.$/),
    createTopup: expect.stringMatching(/^Stored for 24 hours: .* gets the first response\.$/),
    chat: expect.stringMatching(/^Stored for 24 hours: .* rejected with 409\.$/),
    creditUser: expect.stringMatching(/^Stored with the transaction: .* does not credit again\.$/),
  })
})

test('too many login attempts have a separate error', () => {
  const errorOf = (id: string) =>
    operations.find((operation) => operation.id === id)!.spec['responses'][429].content['application/json'].example
  for (const id of ['logIn', 'changePassword', 'eraseAccount'])
    expect(errorOf(id)).toMatchObject({ error: 'Too many login attempts' })
  for (const id of ['createTask', 'chat']) expect(errorOf(id)).toMatchObject({ error: 'Rate limit exceeded' })
})

test('every operation documents each status that it returns', () => {
  // Excluded: responses sent before the operation is known (405, 408, 417, 431).
  const shared = [200, 401, 403, 500, 503]
  const body = [400, 413, 415]
  expect(
    Object.fromEntries(operations.map(({ id, spec }) => [id, Object.keys(spec['responses']).map(Number)])),
  ).toEqual(
    Object.fromEntries(
      Object.entries({
        createTask: [...shared, ...body, 404, 409, 424, 429],
        listTasks: [...shared, 400],
        exportTasks: [...shared, 400, 429],
        getTask: [...shared, 400, 404],
        followTask: [...shared, 400, 404, 429],
        cancelTask: [...shared, ...body, 404, 409],
        listAgents: [...shared, 400],
        getAgent: [...shared, 400, 404],
        getAccount: shared,
        exportAccount: [...shared, 429],
        updateAccount: [...shared, ...body, 404, 409, 429],
        createTopup: [...shared, ...body, 404, 409, 429],
        listTopups: [...shared, 400, 404],
        getTopup: [...shared, 400, 404],
        removePaymentMethod: [...shared, 404, 429],
        listAllTopups: [...shared, 400, 404],
        listTransactions: [...shared, 400],
        exportTransactions: [...shared, 400, 429],
        createSession: [...shared, ...body, 404, 409, 429],
        getSession: [...shared, 400, 404],
        listSessions: [...shared, 400],
        updateSession: [...shared, ...body, 404, 409, 410, 429],
        deleteSession: [...shared, 400, 404, 429],
        listMessages: [...shared, 400, 404],
        chat: [...shared, ...body, 404, 409, 410, 424, 429],
        readChat: [...shared, 204, 400, 404, 410, 429],
        readSessionChat: [...shared, 204, 400, 404, 410, 429],
        stopChat: [...shared, ...body, 404],
        createQuote: [...shared, ...body, 404, 409, 410, 429],
        createConnector: [...shared, ...body, 409, 429],
        listConnectors: [...shared, 400],
        getConnector: [...shared, 400, 404],
        updateConnector: [...shared, ...body, 404, 409, 429],
        deleteConnector: [...shared, 400, 404, 429],
        testConnector: [...shared, ...body, 404, 409, 429],
        signInConnector: [...shared, ...body, 404, 409, 424, 429],
        finishConnectorSignIn: [...shared, ...body, 404, 409, 424, 429],
        signOutConnector: [...shared, 400, 404, 429],
        listConnectorTools: [...shared, 400, 404, 409, 424, 429],
        callConnectorTool: [...shared, ...body, 404, 409, 424, 429],
        listConnectorServers: [...shared, 400],
        createWebhook: [...shared, ...body, 409, 429],
        listWebhooks: [...shared, 400],
        getWebhook: [...shared, 400, 404],
        updateWebhook: [...shared, ...body, 404, 429],
        deleteWebhook: [...shared, 400, 404, 429],
        rotateWebhook: [...shared, ...body, 404, 409, 429],
        testWebhook: [...shared, ...body, 404, 409, 429],
        listWebhookDeliveries: [...shared, 400, 404],
        getWebhookDelivery: [...shared, 400, 404],
        redeliverEvent: [...shared, ...body, 404, 409, 429],
        createKey: [...shared, ...body, 409, 429],
        getKey: [...shared, 400, 404],
        listKeys: [...shared, 400],
        updateKey: [...shared, ...body, 404, 409, 429],
        revokeKey: [...shared, 400, 404],
        rotateKey: [...shared, ...body, 404, 409, 429],
        createClientToken: [...shared, ...body, 404, 409, 429],
        listClientTokens: [...shared, 400],
        revokeClientToken: [...shared, 400, 404],
        getUsage: [...shared, 400],
        changePassword: [...shared, ...body, 409, 429],
        eraseAccount: [...shared, ...body, 409, 429],
        getLoginOptions: [200, 400, 500, 503],
        logIn: [...shared, ...body, 429],
        logOut: [...shared, ...body],
        listLogins: [...shared, 400],
        endLogin: [...shared, 400, 404],
        endLogins: shared,
        createInvitation: [...shared, ...body, 409],
        listInvitations: [...shared, 400],
        revokeInvitation: [...shared, 400, 404],
        checkInvitation: [200, ...body, 404, 500, 503],
        requestPasswordReset: [200, ...body, 404, 429, 500, 503],
        requestSignUp: [200, ...body, 404, 429, 500, 503],
        acceptInvitation: [200, ...body, 403, 404, 409, 500, 503],
        listUsers: [...shared, 400],
        getUser: [...shared, 400, 404],
        updateUser: [...shared, ...body, 404, 409],
        unblockUser: [...shared, ...body, 404],
        eraseUser: [...shared, ...body, 404, 409],
        creditUser: [...shared, ...body, 404, 409],
        listUserTransactions: [...shared, 400, 404],
        findOwner: [...shared, 400, 404],
        listUserTasks: [...shared, 400, 404],
        getUserTask: [...shared, 400, 404],
        listUserSessions: [...shared, 400, 404],
        listUserLogins: [...shared, 400, 404],
        endUserLogin: [...shared, 400, 404],
        createPasswordLink: [...shared, ...body, 404],
        getUserByExternalId: [...shared, 400, 404],
        getOrCreateUser: [...shared, ...body, 404, 409],
        createUserKey: [...shared, ...body, 404, 409],
        listUserKeys: [...shared, 400, 404],
        revokeUserKey: [...shared, 400, 404],
        createPlatformKey: [...shared, ...body, 409],
        listPlatformKeys: [...shared, 400],
        revokePlatformKey: [...shared, 400, 404],
        getPlatformKey: [...shared, 400, 404],
        revokePlatformClientToken: [...shared, 400, 404],
        getSystem: shared,
        getEconomics: [...shared, 400],
        listAudit: [...shared, 400],
        getMail: shared,
        sendTestMail: [...shared, ...body, 404],
        getPayload: [200, 304, 403, 404, 500],
      }).map(([id, statuses]) => [id, statuses.toSorted((a, b) => a - b)]),
    ),
  )
})

test('the description of an error response names the object of its operation', () => {
  const words = (id: string, status: number) =>
    operations.find((operation) => operation.id === id)!.spec['responses'][status].description
  expect(words('createTask', 404)).toBe('The agent endpoint or a connector was not found.')
  expect(words('getTask', 404)).toBe('The task was not found.')
  expect(words('rotateKey', 409)).toBe('The key is revoked or expired.')
  expect(words('listConnectorTools', 424)).toBe('The server cannot be used.')
  expect(words('listKeys', 400)).toBe('A parameter is invalid.')
})
