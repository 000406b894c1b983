import { PasswordInput, type PasswordInputProps } from '@mantine/core'
import { useState, type KeyboardEvent } from 'react'

/** A password that can be shown; says to screen readers when it is wrong, and its button takes Enter too. */
export function PasswordField(props: PasswordInputProps) {
  const [isVisible, setVisible] = useState(false)
  return (
    <PasswordInput
      {...props}
      aria-invalid={props.error ? true : undefined}
      visible={isVisible}
      onVisibilityChange={setVisible}
      visibilityToggleButtonProps={{
        'aria-label': 'Show the password',
        tabIndex: 0,
        onKeyDown: (event: KeyboardEvent) => {
          if (event.key !== 'Enter') return
          // It stands in the form, which Enter would submit.
          event.preventDefault()
          setVisible(!isVisible)
        },
      }}
    />
  )
}
