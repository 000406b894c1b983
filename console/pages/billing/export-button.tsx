import { Button, Group, Modal, Progress, Stack, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { DownloadIcon } from '@radix-ui/react-icons'
import { useMutation } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { client } from '../../app/api-client.ts'
import { ErrorNotice } from '../../parts/error-notice.tsx'
import { notifyDone } from '../../parts/notify.tsx'
import { saveFile } from '../../parts/download/save-file.ts'
import { TransactionExport, type ExportProgress, type TransactionFilter } from './transaction-export.ts'

type Running = { work: TransactionExport; abort: AbortController }

const count = new Intl.NumberFormat('en')

export function ExportButton({ filter, isDisabled }: { filter: TransactionFilter; isDisabled: boolean }) {
  const [isOpen, { open, close }] = useDisclosure()
  const [progress, setProgress] = useState<ExportProgress>()
  const running = useRef<Running>(undefined)
  const action = useMutation({
    mutationFn: async ({ work, abort }: Running) => await work.run({ signal: abort.signal, onProgress: setProgress }),
    onSuccess: (text, { abort }) => {
      if (abort.signal.aborted) return
      saveFile(new Blob([text], { type: 'text/csv;charset=utf-8' }), fileName(filter))
      close()
      notifyDone('Transactions exported.')
    },
  })
  useEffect(() => () => running.current?.abort.abort(), [])
  const run = (work: TransactionExport) => {
    running.current = { work, abort: new AbortController() }
    action.mutate(running.current)
  }
  const start = () => {
    setProgress(undefined)
    open()
    run(new TransactionExport(client.transactions.list, filter))
  }
  const cancel = () => {
    running.current?.abort.abort()
    close()
  }
  const percent = progress ? Math.floor((100 * progress.done) / Math.max(1, progress.total)) : 0
  const text = progress ? `${count.format(progress.done)} of ${count.format(progress.total)}` : 'Loading transactions'
  return (
    <>
      <Button
        size="xs"
        variant="default"
        leftSection={<DownloadIcon aria-hidden />}
        onClick={start}
        disabled={isDisabled}
      >
        Export CSV
      </Button>
      <Modal opened={isOpen} onClose={cancel} title="Exporting transactions" closeOnClickOutside={false}>
        <Stack gap="xs">
          {action.error && isOpen ? (
            <ErrorNotice
              error={action.error}
              title="Export failed"
              onRetry={() => running.current && run(running.current.work)}
            />
          ) : (
            <Text c="dimmed">The file is saved when all transactions are loaded. If you cancel, nothing is saved.</Text>
          )}
          <Progress.Root size="lg">
            <Progress.Section value={percent} aria-label="Transactions loaded" aria-valuetext={text} />
          </Progress.Root>
          <Text size="sm" className="tabular">
            {text}
          </Text>
        </Stack>
        <Group justify="flex-end" mt="md">
          <Button variant="default" onClick={cancel} data-autofocus>
            Cancel
          </Button>
        </Group>
      </Modal>
    </>
  )
}

function fileName({ sessionId, type }: TransactionFilter): string {
  const parts = ['errand-transactions', type, sessionId, new Date().toISOString().slice(0, 10)]
  return `${parts.filter((part) => part !== undefined).join('-')}.csv`.replaceAll(/[^\w.-]/g, '_')
}
