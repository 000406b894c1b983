import { Box } from '@mantine/core'
import { CopyButton } from './copy-button.tsx'
import classes from './code-block.module.css'

export function CodeBlock({ code, label, what }: { code: string; label: string; what?: string }) {
  return (
    <Box className={classes.block}>
      <pre className={classes.code} tabIndex={0} role="group" aria-label={label}>
        {code}
      </pre>
      <Box className={classes.copy}>
        <CopyButton value={code} what={what ?? label} />
      </Box>
    </Box>
  )
}
