import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useMutation } from '@tanstack/react-query'
import type { User } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { queryClient } from '../../../app/query-client.ts'
import { ErrorNotice } from '../../../parts/error-notice.tsx'
import { LinkOnce } from '../link-once.tsx'

/** Creates a password link after explaining its effect, and shows it only once. */
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
        Make a password link
      </Button>
      <Modal
        opened={isOpen}
        onClose={close}
        closeOnClickOutside={!make.data}
        closeOnEscape={!make.data}
        title={make.data ? 'Pass on the link' : `A password link for ${email}`}
        size="lg"
      >
        {make.data ? (
          <LinkOnce link={make.data} email={email} onDone={close}>
            The old password and all browser logins of the account end when the new password is set, not before.
          </LinkOnce>
        ) : (
          <Stack gap="md">
            <Text>
              Whoever opens the link sets a new password for {email} and is logged in. It is valid for a day and works
              once. An earlier link that was not used ends.
            </Text>
            {isSuspended && (
              <Text>The account is suspended: the link does not work until the suspension has ended.</Text>
            )}
            {make.error && <ErrorNotice title="No link was made" error={make.error} />}
            <Group justify="flex-end" gap="xs">
              <Button variant="default" onClick={close}>
                Cancel
              </Button>
              <Button loading={make.isPending} onClick={() => make.mutate()} data-autofocus>
                Make the link
              </Button>
            </Group>
          </Stack>
        )}
      </Modal>
    </>
  )
}
