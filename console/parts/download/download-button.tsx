import { Button, type ButtonProps } from '@mantine/core'
import { DownloadIcon } from '@radix-ui/react-icons'
import { useMutation } from '@tanstack/react-query'
import { notifyError } from '../notify.tsx'
import { saveFile } from './save-file.ts'

type DownloadButtonProps = {
  label: string
  fileName: string
  content: string | (() => string | Promise<string>)
  /** Media type of the file. Default: JSON. */
  type?: string
  buttonProps?: ButtonProps
}

export function DownloadButton({ label, fileName, content, type, buttonProps }: DownloadButtonProps) {
  const download = useMutation({
    mutationFn: async () => {
      const text = typeof content === 'function' ? await content() : content
      saveFile(new Blob([text], { type: type ?? 'application/json' }), fileName)
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
