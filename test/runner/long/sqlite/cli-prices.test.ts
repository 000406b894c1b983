import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../../../support/resources.ts'
import { runErrand } from '../../../support/test-process.ts'

const mini = { input_cost_per_token: 2.5e-7, output_cost_per_token: 2e-6 }
const haiku = { input_cost_per_token: 1e-6, output_cost_per_token: 5e-6, cache_read_input_token_cost: 1e-7 }

function open() {
  const folder = temporaryFolder('prices')
  const [list, source] = [join(folder, 'prices.json'), join(folder, 'source.json')]
  const publish = (models: object) => writeFileSync(source, JSON.stringify(models))
  const run = async (command: string, ...args: string[]) =>
    await runErrand(['prices', command, ...args, '--list', list])
  return { list, source, publish, run }
}

test('an import prints the differences, then updates the models of the list and adds the given ones', async () => {
  const { list, publish, run, source } = open()
  publish({ mini, haiku })
  expect(await run('diff', source, 'mini')).toBe(
    'mini  inputPerMillionUsd  none -> 0.25\nmini  outputPerMillionUsd  none -> 2\n',
  )
  expect(existsSync(list)).toBe(false)
  await run('import', source, 'mini')
  expect(JSON.parse(readFileSync(list, 'utf8'))).toEqual({
    currency: 'USD',
    models: { mini: { inputPerMillionUsd: '0.25', outputPerMillionUsd: '2' } },
  })
  publish({ mini: { ...mini, output_cost_per_token: 3e-6 }, haiku })
  expect(await run('import', source)).toBe(
    `mini  outputPerMillionUsd  2 -> 3\nWrote ${list}. Run \`errand reload\` to apply it to a running service.\n`,
  )
  expect(await run('diff', source)).toBe(`${list} already has these prices.\n`)
  const added = JSON.parse(await run('import', source, 'haiku', '--json')) as { differences: unknown[] }
  expect(added.differences).toContainEqual({ model: 'haiku', name: 'cacheReadPerMillionUsd', from: null, to: '0.1' })
  expect(await run('show', 'haiku')).toBe(
    'haiku  inputPerMillionUsd 1, outputPerMillionUsd 5, cacheReadPerMillionUsd 0.1\n',
  )
})

test('a model of the list that the file lacks is reported, and a list that cannot be read is not replaced', async () => {
  const { list, publish, run, source } = open()
  publish({ mini })
  await run('import', source)
  publish({ 'openai/mini': mini })
  expect(await run('diff', source)).toBe(`mini  unchanged: in ${source}, the model does not have an entry\n`)
  const broken = { models: { mini: { inputPerMillionUsd: '1' } } }
  writeFileSync(list, JSON.stringify(broken))
  await expect(run('import', source, 'openai/mini')).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringContaining('must have a price for output tokens'),
  })
  expect(JSON.parse(readFileSync(list, 'utf8'))).toEqual(broken)
})

test('an unknown model, an unusable price or a file that is no list exits with 2 and writes nothing', async () => {
  const { list, publish, run, source } = open()
  publish({ mini, half: { input_cost_per_token: 1e-6 } })
  for (const [args, message] of [
    [['import', source, 'maxi'], 'does not have a price for "maxi"'],
    [['import', source, 'half'], 'must have a price for output tokens'],
    [['import', join(source, 'none')], 'Could not read the price list'],
    [['show'], 'Could not read the price list'],
  ] as [[string, ...string[]], string][]) {
    await expect(run(...args)).rejects.toMatchObject({ code: 2, stderr: expect.stringContaining(message) })
  }
  expect(existsSync(list)).toBe(false)
})

test('an import of all models skips those without a usable price, and says so', async () => {
  const { list, publish, run, source } = open()
  const half = { input_cost_per_token: 1e-6 }
  publish({ half })
  await expect(run('import', source)).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringContaining('contains no usable prices. To see why, name one of its models.'),
  })
  expect(existsSync(list)).toBe(false)
  publish({ mini, half })
  expect(await run('import', source)).toContain(
    'outputPerMillionUsd  none -> 2\nSkipped models without a usable price: 1. To see the reason, name the model.\n',
  )
  expect(await run('import', source)).toBe(`${list} already has these prices.\n`)
})
