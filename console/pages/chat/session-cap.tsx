import { Button, Group, Modal, Stack, Text, TextInput, type ButtonProps } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Session } from '../../../client/client.ts'
import { client } from '../../app/api-client.ts'
import { queryClient } from '../../app/query-client.ts'
import { ErrorNotice } from '../../parts/error-notice.tsx'
import { fieldErrors } from '../../parts/field-errors.ts'
import { notifyDone } from '../../parts/notify.tsx'
import { Money, MoneyOf } from '../../parts/text/money.tsx'
import { sessionOptions } from './transcript/transcript.ts'

type Capped = Pick<Session, 'maxCostUsd' | 'spentUsd'>

export function SessionCap({ session: { maxCostUsd, spentUsd } }: { session: Capped }) {
  if (maxCostUsd === undefined) return 'None'
  return <MoneyOf usd={spentUsd} ofUsd={maxCostUsd} />
}

type CapButtonProps = ButtonProps & {
  sessionId: string
  /** Label of the button. The default depends on whether a cap is set. */
  label?: string
}

export function CapButton({ sessionId, label, ...rest }: CapButtonProps) {
  const [isOpen, { open, close }] = useDisclosure()
  const { data: session } = useQuery(sessionOptions(sessionId))
  return (
    <>
      <Button size="xs" variant="default" {...rest} onClick={open} disabled={!session}>
        {label ?? (session?.maxCostUsd === undefined ? 'Set cap' : 'Change cap')}
      </Button>
      <Modal opened={isOpen} onClose={close} title="Chat cap">
        {session && <CapForm session={session} onDone={close} />}
      </Modal>
    </>
  )
}

function CapForm({ session, onDone }: { session: Session; onDone: () => void }) {
  const { id: sessionId, maxCostUsd, spentUsd } = session
  const [text, setText] = useState(maxCostUsd ?? '')
  const save = useMutation({
    mutationFn: (cap: string | null) => client.sessions.update({ sessionId, maxCostUsd: cap }),
    onSuccess: (changed) => {
      queryClient.setQueryData(['session', sessionId], changed)
      notifyDone(changed.maxCostUsd === undefined ? 'Cap removed.' : 'Cap saved.')
      onDone()
    },
  })
  const { fields, rest } = fieldErrors(save.error, ['maxCostUsd'])
  const [isEmpty, setEmpty] = useState(false)
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        const cap = text.trim()
        setEmpty(cap === '')
        if (cap !== '') save.mutate(cap)
      }}
    >
      <Stack gap="md">
        <Text>
          Cap on the total cost of this chat. <Money usd={spentUsd} /> is spent so far. A reply that reaches the cap is
          cut off, and the partial reply is saved.
        </Text>
        {rest !== undefined && <ErrorNotice title="Could not save the cap" error={save.error} />}
        <TextInput
          label="Cap in USD"
          inputMode="decimal"
          autoComplete="off"
          data-autofocus
          value={text}
          onChange={(event) => {
            setText(event.currentTarget.value)
            setEmpty(false)
            save.reset()
          }}
          error={isEmpty ? 'Enter an amount in USD, such as 1.50' : fields['maxCostUsd']}
        />
        <Group justify="flex-end" gap="xs">
          {maxCostUsd !== undefined && (
            <Button variant="subtle" color="gray" disabled={save.isPending} onClick={() => save.mutate(null)}>
              Remove cap
            </Button>
          )}
          <Button type="submit" loading={save.isPending}>
            Save cap
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
