import { expect, test } from 'vitest'
import { expectOneEnd, Talker, textOf } from '../../chat/chat-checks.ts'
import { refuse, reply, type Script } from '../../support/model-provider.ts'
import { expectFailedChat, expectFailedTask, expectSound, onlyCharge, startModels } from '../model-checks.ts'

// Agent threads that load the configuration file themselves and find the provider in their environment.

test('chats with tools, tasks and their failures work the same in agent threads', async () => {
  const world = await startModels({ inThreads: true })
  const { provider, service } = world
  const talker = await Talker.create(service, { agentId: 'model' })
  provider.play(
    reply({ text: ['I look. '], calls: [{ id: 'a', name: 'weather', args: ['{"city":', '"Bern"}'] }] }),
    reply({ text: ['21 ', 'degrees.'] }),
  )
  const events = await talker.chat('How is the weather in Bern?')
  expect(events.map(({ delta, type }) => delta ?? type)).toEqual([
    'I look. ',
    'tool_call',
    'tool_result',
    '21 ',
    'degrees.',
    'done',
  ])
  expect(events[2].toolResult.output).toEqual({ city: 'Bern', celsius: 21 })
  await onlyCharge(talker)
  provider.play(reply({ text: ['{"title":"Tea","pages":3}'] }))
  const task = await service.runTask(talker.key, 'model.book', { subject: 'tea' })
  expect(task).toMatchObject({ status: 'completed', response: { title: 'Tea', pages: 3 } })
  provider.play(refuse(503, 'Come again.'))
  await expectFailedChat(talker, /^The model provider responded with 503: Come again\.$/)
  await expectFailedTask(service, talker.person, { message: /^The model provider responded with 503: Come again\.$/ })
  await expectSound(world, talker)
  await world.stop()
})

/** Echoes each chat's message, one character at a time. */
const echo: Script = (response, request) => {
  const said = request.body.messages.at(-1).content as string
  return reply({ text: [...said], usage: { prompt_tokens: said.length, completion_tokens: said.length } })(
    response,
    request,
  )
}

test('fifty concurrent chats and fifty tasks each get the answer to their own prompt', async () => {
  const world = await startModels({ inThreads: true })
  const person = await world.service.createPerson({ balanceUsd: '1000' })
  world.provider.play(echo)
  const talkers = await Promise.all(
    Array.from({ length: 50 }, () => Talker.create(world.service, { agentId: 'model', person })),
  )
  const subjects = talkers.map((_, n) => `subject ${'x'.repeat(n)}`)
  const [chats, tasks] = await Promise.all([
    Promise.all(talkers.map((talker, n) => talker.chat(`Chat of ${subjects[n]}`))),
    Promise.all(subjects.map((subject) => world.service.runTask(person.key, 'model.draft', { subject }))),
  ])
  for (const [n, events] of chats.entries()) {
    const said = `Chat of ${subjects[n]}`
    expect(textOf(events)).toBe(said)
    expect(expectOneEnd(events, 'done').usage).toMatchObject({
      promptTokens: said.length,
      completionTokens: said.length,
    })
    await onlyCharge(talkers[n]!)
  }
  expect(tasks.map(({ response }) => response.text)).toEqual(subjects.map((subject) => `Write about ${subject}.`))
  expect(await world.service.app.store.verifyLedger()).toMatchObject({ ok: true, differences: [] })
  await world.stop()
})
