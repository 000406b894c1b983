import { expect, test } from 'vitest'
import { startService } from '../../support/test-service.ts'
import { PlatformCalls } from '../platform-calls.ts'
import { expectStatus, signIn, signUpAdmin } from '../signed-in.ts'

test('a task says which credential created it, with the id only of a key or client token', async () => {
  const service = await startService()
  const { key, userId } = await service.createPerson()
  const { browser: admin } = await signUpAdmin(service)
  const browser = await signIn(service, userId)
  const platform = await PlatformCalls.open(service)
  const keyId = (await service.get('/api/keys', key)).body.keys[0].id
  const { id: tokenId, token } = await expectStatus(200, service.post('/api/client-tokens', {}, { key }))
  const task = { endpointId: 'test.free', params: {} }
  const tasks: { id: string; keyId?: string; startedBy?: object }[] = []
  for (const [create, starter] of [
    [() => service.post('/api/tasks', task, { key }), { keyId }],
    [() => service.post('/api/tasks', task, { key: token }), { startedBy: { kind: 'clientToken', id: tokenId } }],
    [() => browser.post('/api/tasks', task), { startedBy: { kind: 'login' } }],
    [() => platform.post('/api/tasks', task, { user: userId }), { startedBy: { kind: 'platformKey' } }],
  ] as const) {
    const { taskId: id } = await expectStatus(200, create())
    tasks.push({ id, ...starter })
  }

  const shown = ({ id, keyId: by, startedBy }: (typeof tasks)[number]) => ({
    id,
    ...(by && { keyId: by }),
    ...(startedBy && { startedBy }),
  })
  for (const expected of tasks) {
    const path = `tasks/${expected.id}`
    expect(shown(await expectStatus(200, service.get(`/api/${path}?wait=20`, key)))).toEqual(expected)
    expect(shown(await expectStatus(200, admin.get(`/api/users/${userId}/${path}`)))).toEqual(expected)
  }
  tasks.reverse()
  const listed = await expectStatus(200, service.get('/api/tasks', key))
  expect(listed.tasks.map(shown)).toEqual(tasks)
  expect(await expectStatus(200, admin.get(`/api/users/${userId}/tasks`))).toMatchObject({ tasks })
  const csv: string = await expectStatus(200, service.get('/api/tasks/export', key))
  expect(
    csv
      .trimEnd()
      .split('\r\n')
      .slice(1)
      .map((row) => row.split(',').slice(-2)),
  ).toEqual([
    ['platformKey', ''],
    ['login', ''],
    ['clientToken', tokenId],
    ['', ''],
  ])
  const account: string = await expectStatus(200, browser.get('/api/account/export'))
  const exported = account
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(exported.filter(({ type }) => type === 'task').map(({ data }) => shown(data))).toEqual(tasks)
  expect(account + csv + JSON.stringify(listed)).not.toContain(platform.keyId)
  await service.stop()
})
