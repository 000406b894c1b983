import { Button, type ButtonProps } from '@mantine/core'
import { DownloadIcon } from '@radix-ui/react-icons'
import { useMutation } from '@tanstack/react-query'
import { notifyError } from '../notify.tsx'
import { saveFile } from './save-file.ts'

type DownloadButtonProps = {
  label: string
  fileName: string
  /** JSON text, or a file of any type. */
  content: string | (() => string | Blob | Promise<string | Blob>)
  buttonProps?: ButtonProps & { 'aria-label'?: string }
}

export function DownloadButton({ label, fileName, content, buttonProps }: DownloadButtonProps) {
  const download = useMutation({
    mutationFn: async () => {
      const file = typeof content === 'function' ? await content() : content
      saveFile(file instanceof Blob ? file : new Blob([file], { type: 'application/json' }), fileName)
    },
    onError: (error) => notifyError('Could not create the file', error),
  })
  return (
    <Button
      size="xs"
      variant="default"
      leftSection={<DownloadIcon aria-hidden />}
      {...buttonProps}
      loading={download.isPending}
      onClick={() => download.mutate()}
    >
      {label}
    </Button>
  )
}
