import { Box } from '@mantine/core'
import { useEffect, useRef } from 'react'
import { CopyButton } from './copy-button.tsx'
import classes from './secret-box.module.css'

/** Shows a secret only once, focused and ready to copy. `what` completes "Copy …". */
export function SecretBox({ value, label, what }: { value: string; label: string; what: string }) {
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => box.current?.focus(), [])
  return (
    <Box>
      <Box className={classes.secret} role="group" aria-label={label} tabIndex={0} mb="xs" ref={box}>
        {value}
      </Box>
      <CopyButton value={value} what={what} withLabel />
    </Box>
  )
}
