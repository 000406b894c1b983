import type { Command } from 'commander'
import { createProgram } from '../server/cli/command-line.ts'
import {
  limits,
  limitVariable,
  variables,
  type Limit,
  type LimitName,
  type Variable,
} from '../server/kernel/settings.ts'
import { fieldSections, unitOf } from './config-fields.ts'
import { markdownTable } from './markdown-table.ts'

/** Generates docs/reference/settings.md: every variable, limit, option and field, from the code that reads them. */
export function settingsPage(): string {
  const fields = fieldSections().map(
    ({ rows, title }) =>
      `### ${title}\n\n${markdownTable(
        ['field', 'meaning', 'unit', 'values', 'default'],
        rows.map((row) => [row.name, row.meaning, row.unit, row.values, row.default]),
      )}`,
  )
  return [
    '# Settings',
    'Written by `npm run reference` from the code that reads the settings; a test fails when it differs. What to set when is in [operations](../guides/operations.md).',
    'A command-line option overrides its environment variable, which overrides the configuration file.',
    '## Environment variables',
    variableTable(),
    'The agents of `npm start` read a few more, for [a language model](../guides/operations.md#a-language-model-for-the-quickstart).',
    '## Limits',
    'Whole numbers, under `limits` in the configuration file or in the variable; at least 1, or 0 where it has a meaning.',
    limitTable(),
    '## Command line',
    '`errand COMMAND`. Wrong usage exits with 2, a failure with 1, with one line on standard error: with `--json`, the body of an API error.',
    ...commandSections(createProgram()),
    '## Configuration file',
    '`errand.config.ts` exports this as its default. `defineConfig` and `defineEndpoint` of the package `errand` give it its types. An unknown field is refused.',
    ...fields,
    '',
  ]
    .join('\n\n')
    .replace(/\n+$/, '\n')
}

function variableTable(): string {
  const rows = Object.entries<Variable>(variables).map(([name, variable]) => [
    `\`${name}\``,
    variable.option === undefined ? '' : `\`${variable.option.split(' ')[0]}\``,
    `${variable.meaning}${variable.isSecret ? '; agents do not see it' : ''}`,
    variable.values,
    variable.default === undefined ? (variable.otherwise ?? 'none') : `\`${variable.default}\``,
  ])
  return markdownTable(['variable', 'option', 'meaning', 'values', 'default'], rows)
}

function limitTable(): string {
  const rows = Object.entries<Limit>(limits).map(([name, limit]) => [
    `\`${name}\``,
    `\`${limitVariable(name as LimitName)}\``,
    limit.meaning,
    unitOf(name),
    limit.defaultText ?? limit.default.toLocaleString('en'),
    limit.zero ?? '',
  ])
  return markdownTable(['limit', 'variable', 'meaning', 'unit', 'default', '0 means'], rows)
}

function commandSections(command: Command, parents = ''): string[] {
  return command.commands.flatMap((child) => {
    const name = `${parents}${child.name()}`
    if (child.commands.length > 0) return commandSections(child, `${name} `)
    const args = child.registeredArguments.map((argument) => [
      `\`${argument.required ? `<${argument.name()}>` : `[${argument.name()}]`}\``,
      argument.description,
      argument.required ? 'required' : String(argument.defaultValue ?? ''),
    ])
    const options = child.options.map((option) => [
      `\`${option.flags}\``,
      option.description,
      option.mandatory ? 'required' : String(option.defaultValue ?? ''),
    ])
    const text = `${child.description().replace(/^./, (first) => first.toUpperCase())}.`
    const rows = [...args, ...options]
    const table = rows.length === 0 ? [] : [markdownTable(['option', 'meaning', 'default'], rows)]
    return [`### ${name}`, text, ...table]
  })
}
