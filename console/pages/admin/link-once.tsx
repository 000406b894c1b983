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
        Give this link to <b>{email}</b> through a private channel. The service sends no email, and anyone with the link
        can use it.
      </Text>
      <SecretBox value={url} label="Link" what="link" />
      <Text>
        The link works once, until <TimeText at={expiresAt} isExact />. You will not see it again. If you lose it,
        create another to replace it. {children}
      </Text>
      <Group justify="flex-end">
        <Button onClick={onDone}>Done</Button>
      </Group>
    </Stack>
  )
}
