import { Box, Button, FileButton, Group, Text } from '@mantine/core'
import { UploadIcon } from '@radix-ui/react-icons'
import { useEffect, useRef, useState, type DragEvent, type ReactNode } from 'react'
import { useAccount } from '../../app/use-account.ts'
import { sizeText } from '../text/size-text.ts'
import classes from '../../pages/agents/agent.module.css'
import { readTextFile } from './read-text-file.ts'

type TextFileProps = {
  label: string
  text: string
  onText: (text: string) => void
  children: ReactNode
}

export function TextFile({ label, text, onText, children }: TextFileProps) {
  const bytesMax = useAccount().data?.maxBodyBytes
  const [found, setFound] = useState<{ of: string; problem?: string; done?: string }>()
  const [isOver, setOver] = useState(false)
  const newest = useRef<File>(undefined)
  useNoStrayDrops()
  // Show the message about a file only while the text is unchanged.
  const said = found?.of === text ? found : undefined

  const take = async (file: File) => {
    newest.current = file
    const read = await readTextFile(file, bytesMax)
    // The user has chosen another file in the meantime.
    if (newest.current !== file) return
    if ('problem' in read) return setFound({ of: text, problem: read.problem })
    setFound({ of: read.text, done: `Filled from ${file.name}, ${sizeText(file.size)}.` })
    onText(read.text)
  }
  const onDrop = (event: DragEvent) => {
    setOver(false)
    if (!hasFiles(event)) return
    event.preventDefault()
    const { files } = event.dataTransfer
    if (files.length > 1) return setFound({ of: text, problem: 'Several files were selected. Choose only one.' })
    if (files[0]) void take(files[0])
  }
  return (
    <Box
      className={classes.drop}
      data-is-over={isOver || undefined}
      onDragOver={(event) => {
        if (!hasFiles(event)) return
        event.preventDefault()
        event.dataTransfer.dropEffect = 'copy'
        setOver(true)
      }}
      onDragLeave={() => setOver(false)}
      onDrop={onDrop}
    >
      {children}
      <Group gap="xs" mt={4}>
        <FileButton
          // A new key remounts the input, so that the user can fix a file and choose it again.
          key={found?.problem ?? ''}
          inputProps={{ 'aria-label': `File for ${label}`, tabIndex: -1 }}
          onChange={(file) => file && void take(file)}
        >
          {(button) => (
            <Button
              {...button}
              ml={-7}
              size="compact-xs"
              variant="subtle"
              leftSection={<UploadIcon aria-hidden />}
              aria-label={`Fill from file: ${label}`}
            >
              Fill from file
            </Button>
          )}
        </FileButton>
        <Text size="sm" c="dimmed" role="status" style={{ overflowWrap: 'anywhere' }}>
          {said?.done ?? 'or drop one here'}
        </Text>
      </Group>
      <Text size="sm" c="var(--mantine-color-error)" role="alert" style={{ overflowWrap: 'anywhere' }}>
        {said?.problem}
      </Text>
    </Box>
  )
}

function hasFiles({ dataTransfer }: { dataTransfer: DataTransfer | null }): boolean {
  return dataTransfer?.types.includes('Files') === true
}

/** Prevents the browser from opening a file that is dropped outside the drop zone. */
function useNoStrayDrops(): void {
  useEffect(() => {
    const refuse = (event: globalThis.DragEvent) => {
      if (event.defaultPrevented || !hasFiles(event)) return
      event.preventDefault()
      if (event.dataTransfer) event.dataTransfer.dropEffect = 'none'
    }
    addEventListener('dragover', refuse)
    addEventListener('drop', refuse)
    return () => {
      removeEventListener('dragover', refuse)
      removeEventListener('drop', refuse)
    }
  }, [])
}
