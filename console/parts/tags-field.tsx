import { TagsInput } from '@mantine/core'
import { useState } from 'react'

type TagsFieldProps = {
  label: string
  description?: string
  /** Entries in the format `name:value`. */
  value: readonly string[]
  onChange: (pairs: string[]) => void
  maxTags: number
  error?: string | undefined
  w?: number | string
}

const form = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}:.{1,256}$/su
const rule = 'Use name:value. Names can contain only letters, digits, dots, underscores and hyphens.'

export function TagsField({ label, description, value, onChange, maxTags, error, w }: TagsFieldProps) {
  const [wrong, setWrong] = useState<string>()
  const change = (next: string[]) => {
    const pairs = next.map((pair) => pair.trim())
    const odd = pairs.find((pair) => !form.test(pair))
    setWrong(odd)
    if (odd === undefined) onChange(pairs)
  }
  return (
    <TagsInput
      label={label}
      description={description}
      placeholder={value.length === 0 ? 'name:value' : ''}
      value={[...value]}
      onChange={change}
      onSearchChange={(text) => {
        if (text !== '') setWrong(undefined)
      }}
      maxTags={maxTags}
      // Do not split the input at commas, because a value may contain commas.
      splitChars={[]}
      acceptValueOnBlur
      error={wrong === undefined ? error : `"${wrong}" is not a valid tag. ${rule}.`}
      {...(w !== undefined && { w })}
    />
  )
}

/** Converts entries that `TagsField` has accepted to an object. */
export function tagsOf(pairs: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    pairs.map((pair) => [pair.slice(0, pair.indexOf(':')), pair.slice(pair.indexOf(':') + 1)] as const),
  )
}

export function pairsOf(tags: Readonly<Record<string, string>>): string[] {
  return Object.entries(tags).map(([name, value]) => `${name}:${value}`)
}
