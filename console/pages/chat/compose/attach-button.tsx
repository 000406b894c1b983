import { Button, VisuallyHidden } from '@mantine/core'
import { FilePlusIcon } from '@radix-ui/react-icons'
import { useRef } from 'react'
import classes from './composer.module.css'

type AttachButtonProps = { accepts: readonly string[]; onFiles: (files: readonly File[]) => void }

export function AttachButton({ accepts, onFiles }: AttachButtonProps) {
  const input = useRef<HTMLInputElement>(null)
  return (
    <>
      <Button size="xs" variant="default" px="xs" aria-label="Attach files" onClick={() => input.current?.click()}>
        <FilePlusIcon aria-hidden />
        <span className={classes.optionsText}>Attach</span>
      </Button>
      <VisuallyHidden>
        <input
          ref={input}
          type="file"
          multiple
          tabIndex={-1}
          aria-label="Files to attach"
          // The `accept` attribute has no wildcard for all types.
          accept={accepts.includes('*/*') ? undefined : accepts.join(',')}
          onChange={(event) => {
            onFiles([...(event.currentTarget.files ?? [])])
            // Reset the input, so that the user can remove a file and choose the same file again.
            event.currentTarget.value = ''
          }}
        />
      </VisuallyHidden>
    </>
  )
}
