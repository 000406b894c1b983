import { PasswordInput, type PasswordInputProps } from '@mantine/core'
import { useState, type KeyboardEvent } from 'react'

/** Password input with a button that shows the password and also reacts to Enter. Marks errors for screen readers. */
export function PasswordField(props: PasswordInputProps) {
  const [isVisible, setVisible] = useState(false)
  return (
    <PasswordInput
      {...props}
      aria-invalid={props.error ? true : undefined}
      visible={isVisible}
      onVisibilityChange={setVisible}
      visibilityToggleButtonProps={{
        'aria-label': 'Show password',
        tabIndex: 0,
        onKeyDown: (event: KeyboardEvent) => {
          if (event.key !== 'Enter') return
          // The button is inside a form, which Enter would otherwise submit.
          event.preventDefault()
          setVisible(!isVisible)
        },
      }}
    />
  )
}
