import { Button, Group, Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { SecretBox } from '../../parts/secret-box.tsx'
import { TimeText } from '../../parts/text/time-text.tsx'

type LinkOnceProps = {
  link: { url: string; expiresAt: string }
  email: string
  isMailed?: boolean
  children?: ReactNode
  onDone: () => void
}

export function LinkOnce({ link: { expiresAt, url }, email, isMailed = false, children, onDone }: LinkOnceProps) {
  return (
    <Stack gap="md">
      <Text>
        {isMailed ? (
          <>
            The link is being emailed to <b>{email}</b>. You can also share it yourself.
          </>
        ) : (
          <>
            Give this link to <b>{email}</b> through a private channel.
          </>
        )}{' '}
        Anyone with the link can use it.
      </Text>
      <SecretBox value={url} label="Link" what="link" />
      <Text>
        The link works only once and expires on <TimeText at={expiresAt} isExact />. You will not see it again. If you
        lose it, create another link. {children}
      </Text>
      <Group justify="flex-end">
        <Button onClick={onDone}>Done</Button>
      </Group>
    </Stack>
  )
}
