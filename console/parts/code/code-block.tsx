import { Box } from '@mantine/core'
import { CopyButton } from '../copy-button.tsx'
import classes from './code-block.module.css'

type CodeBlockProps = { code: string; label: string; what?: string; isWrapped?: boolean }

export function CodeBlock({ code, label, what, isWrapped }: CodeBlockProps) {
  return (
    <Box className={classes.block}>
      <pre
        className={classes.code}
        data-is-wrapped={isWrapped || undefined}
        tabIndex={0}
        role="group"
        aria-label={label}
      >
        {code}
      </pre>
      <Box className={classes.copy}>
        <CopyButton value={code} what={what ?? label} />
      </Box>
    </Box>
  )
}
