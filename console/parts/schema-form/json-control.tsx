import { Textarea } from '@mantine/core'
import { useState } from 'react'
import { labelProps, type ControlProps } from './control-props.ts'
import { Unfinished } from './form-value.ts'
import { readJson } from './read-json.ts'
import classes from '../../pages/agents/agent.module.css'

const hints = { object: 'Enter a JSON object.', array: 'Enter a JSON array.' }

/** JSON input for fields that a form cannot express, and for values that do not fit the input of their field. */
export function JsonControl({ isMisfit = false, ...props }: ControlProps & { isMisfit?: boolean }) {
  const { field, onChange, value } = props
  const [text, setText] = useState(() => toText(value))
  const { description, error, ...texts } = labelProps(props)
  const hint =
    (field.kind === 'json' && field.expects && hints[field.expects]) ||
    'Enter any JSON value, with strings in double quotes.'
  const note = isMisfit ? 'Invalid value. Fix it or clear the field.' : hint
  const commit = (given: string) => {
    if (given.trim() === '') return onChange(undefined)
    const read = readJson(given)
    onChange('problem' in read ? new Unfinished(given, read.problem) : read.value)
  }
  return (
    <Textarea
      {...texts}
      description={[description, note].filter(Boolean).join(' ')}
      error={error ?? (value instanceof Unfinished ? value.problem : undefined)}
      value={text}
      // Once the value fits, the regular input replaces this one. That must not happen while the user is typing.
      onChange={(event) => {
        setText(event.currentTarget.value)
        if (!isMisfit) commit(event.currentTarget.value)
      }}
      onBlur={() => isMisfit && commit(text)}
      rows={Math.min(10, Math.max(3, text.split('\n').length))}
      resize="vertical"
      spellCheck={false}
      autoComplete="off"
      classNames={{ input: classes.json ?? '' }}
    />
  )
}

function toText(value: unknown): string {
  if (value === undefined) return ''
  return value instanceof Unfinished ? value.text : JSON.stringify(value, null, 2)
}
