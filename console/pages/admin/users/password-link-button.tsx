import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useMutation } from '@tanstack/react-query'
import type { User } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { queryClient } from '../../../app/query-client.ts'
import { ErrorNotice } from '../../../parts/error-notice.tsx'
import { LinkOnce } from '../link-once.tsx'

export function PasswordLinkButton({ user: { email, id: userId, isSuspended } }: { user: User }) {
  const [isOpen, { open, close }] = useDisclosure()
  const make = useMutation({
    mutationFn: () => client.users.createPasswordLink({ userId }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ['invitations'] }),
  })
  const start = () => {
    make.reset()
    open()
  }
  return (
    <>
      <Button size="xs" variant="default" onClick={start}>
        Create password link
      </Button>
      <Modal
        opened={isOpen}
        onClose={close}
        closeOnClickOutside={!make.data}
        closeOnEscape={!make.data}
        title={make.data ? 'Share the link' : `Password link for ${email}`}
        size="lg"
      >
        {make.data ? (
          <LinkOnce link={make.data} email={email} onDone={close}>
            The old password and all logins keep working until the new password is set.
          </LinkOnce>
        ) : (
          <Stack gap="md">
            <Text>
              Anyone with the link can set a new password for {email} and log in. It works once and expires after a day.
              It replaces any earlier link.
            </Text>
            {isSuspended && <Text>The account is suspended. The link does not work until you unsuspend it.</Text>}
            {make.error && <ErrorNotice title="Could not create the link" error={make.error} />}
            <Group justify="flex-end" gap="xs">
              <Button variant="default" onClick={close}>
                Cancel
              </Button>
              <Button loading={make.isPending} onClick={() => make.mutate()} data-autofocus>
                Create link
              </Button>
            </Group>
          </Stack>
        )}
      </Modal>
    </>
  )
}
