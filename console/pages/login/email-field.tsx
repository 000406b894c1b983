import { TextInput } from '@mantine/core'
import type { Ref } from 'react'

type EmailFieldProps = {
  ref?: Ref<HTMLInputElement>
  value: string
  onChange: (value: string) => void
  error: string | undefined
  readOnly?: boolean
}

/** The email address of the visitor. Browsers fill it in as the user name of the password. */
export function EmailField({ onChange, ...props }: EmailFieldProps) {
  return (
    <TextInput
      {...props}
      label="Email"
      name="email"
      type="email"
      autoComplete="username"
      autoCapitalize="none"
      spellCheck={false}
      required
      withAsterisk={false}
      maxLength={254}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  )
}
