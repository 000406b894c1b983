import { ActionIcon, Button, Group, Modal, Stack, TextInput } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { Pencil1Icon } from '@radix-ui/react-icons'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import type { Session } from '../../../client/client.ts'
import { client } from '../../app/api-client.ts'
import { queryClient } from '../../app/query-client.ts'
import { ErrorNotice } from '../../parts/error-notice.tsx'
import { searchCharsMax } from './list/session-list.ts'

export function RenameButton({ session }: { session: Session }) {
  const [isOpen, { open, close }] = useDisclosure()
  return (
    <>
      <ActionIcon variant="subtle" color="gray" size="sm" aria-label="Rename chat" title="Rename chat" onClick={open}>
        <Pencil1Icon aria-hidden />
      </ActionIcon>
      <Modal opened={isOpen} onClose={close} title="Rename chat">
        <TitleForm session={session} onDone={close} />
      </Modal>
    </>
  )
}

function TitleForm({ session, onDone }: { session: Session; onDone: () => void }) {
  const { id: sessionId } = session
  const [text, setText] = useState(session.title ?? '')
  const title = text.trim()
  const save = useMutation({
    mutationFn: () => client.sessions.update({ sessionId, title }),
    onSuccess: (changed) => {
      queryClient.setQueryData(['session', sessionId], changed)
      void queryClient.invalidateQueries({ queryKey: ['sessions'] })
      onDone()
    },
  })
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        if (title !== '') save.mutate()
      }}
    >
      <Stack gap="md">
        {save.error && <ErrorNotice title="Could not rename the chat" error={save.error} />}
        <TextInput
          label="Title"
          autoComplete="off"
          data-autofocus
          maxLength={searchCharsMax}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        <Group justify="flex-end">
          <Button type="submit" loading={save.isPending} disabled={title === ''}>
            Save title
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
