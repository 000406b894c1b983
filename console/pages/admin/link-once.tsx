import { Button, Group, Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { SecretBox } from '../../parts/secret-box.tsx'
import { TimeText } from '../../parts/text/time-text.tsx'

type LinkOnceProps = {
  link: { url: string; expiresAt: string }
  email: string
  children?: ReactNode
  onDone: () => void
}

/** A link that is shown only once, for the admin to pass on. */
export function LinkOnce({ link: { expiresAt, url }, email, children, onDone }: LinkOnceProps) {
  return (
    <Stack gap="md">
      <Text>
        Give this link to <b>{email}</b> yourself, in a way that nobody else reads: the service sends no mail, and
        whoever has the link can use it.
      </Text>
      <SecretBox value={url} label="The link" what="the link" />
      <Text>
        It works once, until <TimeText at={expiresAt} isExact />. It is not shown again: if it is lost, make another,
        which ends this one. {children}
      </Text>
      <Group justify="flex-end">
        <Button onClick={onDone}>Done</Button>
      </Group>
    </Stack>
  )
}
